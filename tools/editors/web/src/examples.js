// The examples: the first file of each is the one that is shown.
import bank from "../../../../protocols/bank.proto";
import calculator from "../../../../protocols/calculator.proto";
import fileServer from "../../../../protocols/file_server.proto";
import pingpong from "../../../../protocols/pingpong.proto";
import smtp from "../../../../protocols/smtp.proto";
import switchboard from "../../../../protocols/switchboard.proto";
import types from "../../../../protocols/types.proto";
import workQueue from "../../../../protocols/work_queue.proto";

export const examples = [
  { "bank.proto": bank },
  { "pingpong.proto": pingpong },
  { "calculator.proto": calculator },
  { "smtp.proto": smtp },
  { "work_queue.proto": workQueue },
  { "file_server.proto": fileServer, "types.proto": types },
  { "switchboard.proto": switchboard, "calculator.proto": calculator },
];

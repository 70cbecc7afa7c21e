package protocols

/** What `ticket` of `work_queue.proto` is here: the package of the generated code is where an undeclared type is looked for. */
final case class Ticket(id: Int)

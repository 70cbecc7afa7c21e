package protocols

/** The type `ticket` of `work_queue.proto`: an undeclared type is looked up in the package of the generated code. */
final case class Ticket(id: Int)

package patterns

import duologue.{abandon, sendOrClosed, PortSet}
import protocols.{chat, lines}

/** A chat room on one thread: each user may speak at any time, and hears what all say. */
object Chat {
  type Said = chat.Joining | chat.Open

  @scala.annotation.tailrec
  def room(users: PortSet[Said, String], hearing: Map[String, lines.client.Open]): Unit =
    if (!users.isEmpty) users.recv() match {
      case PortSet.Received(_, chat.Joining.Join(name, hears, next)) =>
        users.add(next, name)
        room(users, hearing.updated(name, hears))
      case PortSet.Received(name, chat.Open.Say(text, next)) =>
        users.add(next, name)
        val line = name + ": " + text
        room(users, hearing.flatMap { case (user, to) => sendOrClosed(to)(_.line(line)).toOption.map(user -> _) })
      case PortSet.Received(name, chat.Open.Leave) => room(users, forget(hearing, name))
      case PortSet.Closed(name, _)                 => room(users, forget(hearing, name))
    }

  def forget(hearing: Map[String, lines.client.Open], name: String): Map[String, lines.client.Open] = {
    hearing.get(name).foreach(abandon)
    hearing.removed(name)
  }

  /** What a user says with, and what it hears from. */
  def join(room: chat.client.Joining, name: String): (chat.client.Open, lines.server.Open) = {
    val (hears, speaks) = lines.init()
    (room.join(name, speaks), hears)
  }

  def main(args: Array[String]): Unit = {
    val users = PortSet[Said, String]()
    val List((annSays, annHears), (benSays, benHears)) = List("ann", "ben").map { name =>
      val (server, client) = chat.init()
      users.add(server, "")
      join(client, name)
    }: @unchecked
    val thread = new Thread(() => room(users, Map.empty))
    thread.start()

    // Both speak, and neither waits for the other.
    val (annNext, benNext) = (annSays.say("hello"), benSays.say("hi"))
    val lines.Open.Line(one, more) = annHears.recv()
    val lines.Open.Line(two, last) = more.recv()
    require(Set(one, two).equals(Set("ann: hello", "ben: hi")))

    annNext.leave()
    List(benNext, benHears).foreach(abandon)
    require(last.recvOrClosed().isLeft)
    thread.join()
  }
}

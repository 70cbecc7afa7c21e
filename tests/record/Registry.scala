package cases

import duologue.{Endpoint, Registry, abandon}
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicReference
import scala.concurrent.duration.DurationInt

/** The registry of sessions, in a process that was started with `-Dduologue.registry=`. The arguments are the socket at which it is served, and
  * a folder in which this process makes the file `stuck` when two threads wait for each other, and goes on when there is a file `go`. `+virtual`
  * as a third argument makes these threads virtual.
  */
object StuckSessions {
  private def check(condition: Boolean, what: => String): Unit = if (!condition) throw new AssertionError(what)

  private def until(what: => String)(condition: => Boolean): Unit = {
    val end = System.nanoTime() + 30000000000L
    while (!condition) {
      check(System.nanoTime() < end, what + "\n" + Registry.snapshot().toString)
      Thread.sleep(2L)
    }
  }

  private def named(name: String, isVirtual: Boolean)(body: => Unit): Thread = {
    val run: Runnable = () => body
    val thread =
      if (isVirtual) classOf[Thread].getMethod("startVirtualThread", classOf[Runnable]).invoke(null, (() => {
        Thread.currentThread.setName(name)
        run.run()
      }): Runnable).asInstanceOf[Thread]
      else {
        val thread = new Thread(run, name)
        thread.start()
        thread
      }
    thread
  }

  private def session(endpoint: Endpoint): Registry.Session = {
    val number = endpoint.toString.dropWhile(_ != '#').drop(1)
    Registry.snapshot().sessions.find(_.name == number).getOrElse(throw new AssertionError("no session " + number))
  }

  /** What the registry says about a session as it goes on. */
  private def counts(): Unit = {
    val (server, client) = protocols.bank.init()
    val begun = session(server)
    check(begun.state.contains("bank.login") && begun.isClientsTurn && begun.messages == 0L, begun.toString)
    check(begun.sides.forall(side => side.owner.isEmpty && side.waits.isEmpty && side.inFlight == 0L), "nothing was used")
    Registry.adopt(server)
    check(session(server).sides(1).owner.exists(_.startsWith("thread main #")), "it is adopted")
    val waiting = client.login("holk", "1234")
    val sent = session(server)
    check(sent.state.contains("bank.login_response") && !sent.isClientsTurn && sent.messages == 1L, sent.messages.toString)
    check(sent.sides.map(_.inFlight) == Vector(0L, 1L), "one message is in flight to the server")
    check(sent.sides.map(_.state) == Vector(Some("bank.login_response"), Some("bank.login")), "the client is ahead")
    val answering = server.recv().next
    check(session(server).sides.map(_.inFlight) == Vector(0L, 0L), "it was received")
    // A message that is not sent is not in flight.
    abandon(waiting)
    val left = session(server)
    check(left.sides.map(_.hasLeft) == Vector(true, false), "the client has left")
    check(duologue.sendOrClosed(answering)(_.ok()).isLeft, "the client has left")
    check(Registry.snapshot().sessions.forall(_.name != left.name), "it has ended for both sides")
  }

  /** A sender that waits for space, a select, and a set. */
  private def waits(): Unit = {
    val (server, client) = protocols.stream.init[Int]()
    val sender = named("sender", isVirtual = false) {
      var next = client
      try while (true) next = next.send(1)
      catch { case _: duologue.SessionClosed => }
    }
    until("the sender waits for space")(session(server).sides.head.waits.nonEmpty)
    val full = session(server)
    check(full.sides.head.forSpace && full.sides(1).inFlight == 255L, full.sides(1).inFlight.toString)
    abandon(server)
    sender.join()
    check(Registry.snapshot().sessions.isEmpty, Registry.snapshot().toString)

    val (first, firstClient) = protocols.bank.init()
    val (second, secondClient) = protocols.bank.init()
    val selects = named("selects", isVirtual = false) {
      duologue.Select(first.onOrClosed(_ => ()), second.onOrClosed(_ => ())).recv()
    }
    until("the thread waits in both sessions")(Registry.snapshot().sessions.count(_.sides(1).waits.nonEmpty) == 2)
    // It goes on with one of them, so it is not stuck, even if the other one would be.
    val later = named("later", isVirtual = false)(try firstClient.login("holk", "1234").recv(): Unit catch { case _: duologue.SessionClosed => })
    selects.join()
    check(session(second).sides(1).waits.isEmpty, "the wait is over")
    abandon(first)
    later.join()
    abandon(second)
    abandon(secondClient)

    val (third, thirdClient) = protocols.bank.init()
    val set = duologue.PortSet[protocols.bank.Login, Unit]()
    set.add(third, ())
    check(session(third).sides(1).waits.nonEmpty, "it is in the set")
    set.close()
    check(session(third).sides(1).waits.isEmpty && session(third).sides(1).hasLeft, "it is not in the set")
    abandon(thirdClient)

    val (fourth, fourthClient) = protocols.bank.init()
    check(fourth.recvWithin(1.millis).isEmpty, "there is no message")
    check(session(fourth).sides(1).waits.isEmpty, "the wait is over")
    // One thread with both sides waits for itself.
    val alone = named("alone", isVirtual = false)(fourthClient.login("holk", "1234").recvOrClosed(): Unit)
    until("the client waits")(session(fourth).sides.head.waits.nonEmpty)
    check(Registry.snapshot().deadlocks.isEmpty, "the server's thread does not wait")
    abandon(fourth)
    alone.join()
    check(Registry.snapshot().sessions.isEmpty, Registry.snapshot().toString)
  }

  private def login(client: protocols.bank.client.Login): Unit = client.login("holk", "1234").recvOrClosed(): Unit

  def main(arguments: Array[String]): Unit = {
    check(Registry.isOn, "start it with -Dduologue.registry=")
    val (socket, folder) = (Path.of(arguments(0)), Path.of(arguments(1)))
    val isVirtual = arguments.lift(2).contains("+virtual")
    counts()
    waits()
    val serving = Registry.serve(socket)
    val (firstServer, firstClient) = protocols.bank.init()
    val (secondServer, secondClient) = protocols.bank.init()
    val kept = new AtomicReference[Endpoint]
    // Each takes what the other one has sent, and waits for an answer in the session in which the other one does not answer.
    val first = named("first \"one\"", isVirtual) {
      kept.set(secondServer.recv().next)
      login(firstClient)
    }
    val second = named("second", isVirtual) {
      val waiting = secondClient.login("holk", "1234")
      val answering = firstServer.recv().next
      waiting.recvOrClosed(): Unit
      abandon(answering)
    }
    until("both threads wait")(Registry.snapshot().deadlocks.nonEmpty)
    check(Registry.snapshot().deadlocks.map(_.size) == Vector(2), Registry.snapshot().toString)
    Files.createFile(folder.resolve("stuck")): Unit
    val end = System.nanoTime() + 60000000000L
    while (!Files.exists(folder.resolve("go"))) {
      check(System.nanoTime() < end, "nobody goes on")
      Thread.sleep(5L)
    }
    abandon(kept.get)
    first.join()
    second.join()
    check(Registry.snapshot().sessions.isEmpty && Registry.snapshot().deadlocks.isEmpty, Registry.snapshot().toString)
    serving.close()
    check(!Files.exists(socket), "the socket is removed")
  }
}

package duologue.net

import duologue.{Why, abandon}
import java.util.concurrent.{CountDownLatch, LinkedBlockingQueue, TimeUnit}
import protocols.bank
import scala.concurrent.duration.DurationLong

/** Clients that ask a server about its services. */
final class HealthSuite extends NetSuite {

  private def next[A](values: LinkedBlockingQueue[A]): A = values.poll(Patience, TimeUnit.SECONDS)

  test("clients learn which services can be used") {
    val health = new Health
    val listener = Listener(freshAddress()).serve(bank.server)(login => abandon(login)).health(health).start()
    def check(service: String) = Health.check(listener.address, service)
    assertEquals((check(""), check("bank")), (Health.Serving, Health.Unknown))
    health.set("bank", Health.Serving)
    health.set("", Health.NotServing)
    assertEquals((check(""), check("bank")), (Health.NotServing, Health.Serving))
    health.set("bank", Health.Unknown)
    assertEquals(check("bank"), Health.Unknown)
    assertEquals(health.toString, "Health( -> NotServing)")
    assertEquals(check("x" * 256), Health.Unknown)
    intercept[duologue.PayloadRefused](check("x" * 257)): Unit
    // The program's protocol is served, too.
    abandon(connect(bank.client, listener.address))
    assert(listener.drain(Patience.seconds))
    intercept[ConnectFailed](check("")): Unit
  }

  test("clients are notified of changes until the server drains") {
    val health = new Health
    val listener = Listener(freshAddress()).health(health).start()
    val seen = new LinkedBlockingQueue[Health.Status]
    val watching = spawn(Health.watch(listener.address, "bank").foreach(seen.add(_): Unit))
    assertEquals(next(seen), Health.Unknown)
    for (status <- List(Health.Serving, Health.NotServing, Health.Serving)) {
      health.set("bank", status)
      assertEquals(next(seen), status)
      // Another service.
      health.set("shop", status)
    }
    // A watch that nobody asks for the next status does not hold the server up.
    val idle = Health.watch(listener.address, "bank")
    assert(listener.drain(Patience.seconds))
    await(watching)
    assertEquals(why(idle.next()), Why.Left)
    assertEquals(next(seen), Health.NotServing)
    assert(seen.isEmpty)
  }

  test("a server that drains does not serve") {
    val isOver = new CountDownLatch(1)
    val listener = Listener(freshAddress()).health(new Health).serve(bank.server)(_ => isOver.await()).start()
    val client = connect(bank.client, listener.address)
    val draining = spawn(listener.drain(Patience.seconds))
    eventually(Health.check(listener.address) == Health.NotServing)
    val watch = Health.watch(listener.address, "bank")
    assertEquals(watch.toList, List(Health.NotServing))
    intercept[NoSuchElementException](watch.next()): Unit
    abandon(client)
    isOver.countDown()
    assert(await(draining))
  }

  test("a watch can be closed while another thread waits for it") {
    val health = new Health
    val listener = Listener(freshAddress()).health(health).start()
    val watch = Health.watch(listener.address)
    assertEquals(watch.next(), Health.Serving)
    val waiting = spawn(why(watch.next()))
    waiting.waits()
    watch.close()
    assertEquals(await(waiting), Why.Left)
    // The server is about to answer, and finds that the client has left.
    health.set("", Health.NotServing)
    eventually(listener.size == 0)
    listener.close()
  }
}

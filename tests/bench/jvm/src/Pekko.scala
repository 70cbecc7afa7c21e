package duologue.bench

import com.typesafe.config.{Config, ConfigFactory}
import org.apache.pekko.actor.typed.ActorSystem
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

/** What the cases of Pekko share. Its actors run on the default dispatcher, with as many threads as there are processors. */
object Pekko {
  val quiet: Config = ConfigFactory
    .parseString("pekko.loglevel = OFF, pekko.stdout-loglevel = OFF, pekko.actor.default-dispatcher.fork-join-executor.parallelism-min = 1")
    .withFallback(ConfigFactory.load())

  def end(system: ActorSystem[Nothing]): Unit = {
    system.terminate()
    Await.result(system.whenTerminated, 30.seconds): Unit
  }
}

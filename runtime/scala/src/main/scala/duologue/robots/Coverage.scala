package duologue.robots

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong, AtomicLongArray}

/** Which transitions of a protocol robots have seen, and how often. Both robots of a session and the robots of several sessions can share
  * one, also on several threads.
  *
  * @param table
  *   the protocol: `bank.robots.table`
  */
final class Coverage(val table: Table) {
  private val sent = new AtomicLongArray(table.firsts.last)
  private val received = new AtomicLongArray(table.firsts.last)
  private val sessions = new AtomicLong
  // 1 if a robot was the client, plus 2 if one was the server.
  private val sides = new AtomicInteger

  private[robots] def begin(isClient: Boolean): Unit = {
    sessions.incrementAndGet(): Unit
    val side = if (isClient) 1 else 2
    sides.getAndUpdate(sides => sides | side): Unit
  }

  private[robots] def count(node: Int, edge: Int, isReceived: Boolean): Unit = {
    val counts = if (isReceived) received else sent
    counts.incrementAndGet(table.firsts(node) + edge): Unit
  }

  /** How often a transition has been seen. Not the sum: of two robots that share a coverage, one counts what it receives while the
    * other goes on sending, so the sum would depend on their threads.
    */
  private def seen(node: Int, edge: Int): Long = {
    val at = table.firsts(node) + edge
    math.max(sent.get(at), received.get(at))
  }

  private def transitions: Iterator[(Int, Int)] =
    table.nodes.indices.iterator.flatMap(node => table.nodes(node).edges.indices.iterator.map(edge => (node, edge)))

  private def coverable: Iterator[(Int, Int)] =
    transitions.filter { case (node, edge) => table.nodes(node).edges(edge).isCoverable }

  /** How many transitions have been seen, of those that robots can get to, and how many of these there are. */
  def covered: (Int, Int) = (coverable.count { case (node, edge) => seen(node, edge) > 0L }, coverable.size)

  /** `covered 5/8 transitions`, and a line for each transition that is missing. */
  def report: String = {
    val (some, all) = covered
    val text = new StringBuilder(s"covered $some/$all transitions\n")
    coverable.filter { case (node, edge) => seen(node, edge) == 0L }.foreach { case (node, edge) =>
      val at = table.nodes(node)
      text.append(s"missing ${at.sender}: ${at.edges(edge).message} (${at.state})\n"): Unit
    }
    text.toString
  }

  /** The report as a line of JSON without a line break, for `duologue robots report`. */
  def json: String = {
    val side = sides.get match {
      case 1 => "client"
      case 2 => "server"
      case _ => "both"
    }
    def field(name: String, value: String) = "\"" + name + "\":\"" + value + "\","
    val all = transitions.map { case (node, edge) =>
      val at = table.firsts(node) + edge
      val names = field("state", table.nodes(node).state) + field("message", table.nodes(node).edges(edge).message)
      "{" + names + "\"sent\":" + sent.get(at).toString + ",\"received\":" + received.get(at).toString + "}"
    }
    val head = field("protocol", table.protocol) + field("fingerprint", table.fingerprint) + field("language", "scala") + field("side", side)
    "{\"version\":1," + head + "\"sessions\":" + sessions.get.toString + ",\"transitions\":" + all.mkString("[", ",", "]") + "}"
  }

  /** The first message of the shortest way from a state to a transition that has not been seen, or -1. */
  private[robots] def steer(start: Int): Int = table.way(start) { at =>
    val node = table.nodes(at)
    // A peer that never sends some message must not be asked for it forever.
    val isTried = node.edges.indices.iterator.map(edge => seen(at, edge)).sum >= 8L * node.edges.length
    if (isTried) None else node.makeable.find(edge => seen(at, edge) == 0L)
  }
}

package duologue.robots

import scala.collection.mutable

/** What robots know about a protocol or an instance. Generated code has one table for each.
  *
  * @param protocol
  *   its name, with its package
  * @param fingerprint
  *   its fingerprint, as 32 hexadecimal digits
  * @param nodes
  *   its states, each with type arguments, the start first
  */
final class Table(val protocol: String, val fingerprint: String, val nodes: Vector[Node]) {

  /** For each state, the number of messages of all states before it. */
  private[robots] val firsts: Vector[Int] = nodes.scanLeft(0)((sum, node) => sum + node.edges.length)

  /** The first message of a shortest way from a state to where `goal` finds a message, or -1. `goal` is asked for one that robots can make.
    * Of messages that lead there equally fast, it is the first.
    */
  private[robots] def way(start: Int)(goal: Int => Option[Int]): Int = {
    val first = mutable.Map(start -> -1)
    val queue = mutable.Queue(start)
    var found = -1
    while (found < 0 && queue.nonEmpty) {
      val at = queue.dequeue()
      def through(edge: Int): Int = if (first(at) < 0) edge else first(at)
      goal(at).foreach(edge => found = through(edge))
      nodes(at).makeable.foreach { edge =>
        val next = nodes(at).edges(edge).next
        if (next >= 0 && !first.contains(next)) {
          first(next) = through(edge)
          queue.enqueue(next): Unit
        }
      }
    }
    found
  }

  /** The first message of a shortest way to the end, or -1. */
  private[robots] def wayOut(start: Int): Int =
    way(start)(at => nodes(at).makeable.find(nodes(at).edges(_).next < 0))
}

/** A state with type arguments.
  *
  * @param state
  *   its name, with its type arguments
  * @param sender
  *   the side that sends in it: `client` or `server`
  * @param messages
  *   its messages, separated by spaces: for each its name, the position of the next state or -1 at the end of the protocol, and 0 if
  *   robots cannot make its values, 2 if they can and also get to the state, and otherwise 1
  */
final class Node(val state: String, val sender: String, messages: String*) {

  /** Its messages, in the order written. */
  val edges: Vector[Edge] = messages.flatMap(_.split(' ').toVector).map(Edge.read).toVector

  /** The positions of the messages that robots can send. */
  private[robots] val makeable: Vector[Int] = edges.indices.filter(at => edges(at).isMakeable).toVector
}

/** A message of a state.
  *
  * @param message
  *   its name
  * @param next
  *   the position of the next state in the table; -1 at the end of the protocol
  * @param isMakeable
  *   whether robots can make its values
  * @param isCoverable
  *   whether it is makeable, and robots can get to its state
  */
final class Edge private (val message: String, val next: Int, val isMakeable: Boolean, val isCoverable: Boolean)

private object Edge {
  def read(written: String): Edge = {
    val parts = written.split('/')
    val kind = parts(2).toInt
    new Edge(parts(0), parts(1).toInt, isMakeable = kind > 0, isCoverable = kind == 2)
  }
}

package duologue.net

import java.util.concurrent.ConcurrentHashMap

/** The sessions of a listener that are open, whether a handler has them or the program that accepted them. It refers to their connections,
  * so a session that the program forgets is still found by the collector. All threads may use it.
  */
private[net] final class Sessions {
  private val open = ConcurrentHashMap.newKeySet[Connection]()
  @volatile private var areOver = false

  /** A session has begun. If all have been ended, it ends at once. */
  def add(connection: Connection): Unit = {
    open.add(connection): Unit
    // Either this thread sees that the connection was closed, or that it is open is seen by the thread that closes it.
    if (connection.isOver) remove(connection)
    // Likewise: either this thread ends the session, or the thread that ends all of them does.
    else if (areOver) connection.end()
  }

  /** The connection of a session is closed. */
  def remove(connection: Connection): Unit = open.remove(connection): Unit

  /** Ends all sessions, and those that begin later. */
  def end(): Unit = {
    areOver = true
    open.forEach(_.end())
  }
}

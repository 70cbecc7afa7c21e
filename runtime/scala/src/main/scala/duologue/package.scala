/** What programs need to hold sessions: endpoints, and what they throw. The protocols themselves are generated. */
package object duologue {

  /** The bytes of a `bytes` value; compared by content, and never changed. */
  type Bytes = scala.collection.immutable.ArraySeq[Byte]

  /** Leaves the session that `endpoint` belongs to, by whichever endpoint of the same side is live. The peer reads what was
    * sent up to here and is then told that the session is closed; unread messages are destroyed, and endpoints inside them
    * leave their sessions in turn. Nothing happens if the session is over, or if the endpoint was sent to somebody else.
    */
  def abandon(endpoint: Endpoint): Unit = endpoint.$side.abandon()

  object Bytes {

    /** The lowest eight bits of each number. */
    def apply(bytes: Int*): Bytes = scala.collection.immutable.ArraySeq.from(bytes.map(_.toByte))

    /** A copy of an array. */
    def copyOf(array: Array[Byte]): Bytes = scala.collection.immutable.ArraySeq.unsafeWrapArray(array.clone())
  }
}

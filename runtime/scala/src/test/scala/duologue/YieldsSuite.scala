package duologue

/** A thread that waits yields as long as yields are cheap, and after an expensive one it sleeps at once for a while. */
final class YieldsSuite extends RuntimeSuite {
  for (zero <- Seq(0L, -5L, Long.MaxValue - 10)) {
    test(s"after a dear yield there is none for a while, on a clock that shows $zero") {
      val yields = new Yields
      assert(yields.arePromising(zero))
      yields.learn(zero, zero + Yields.DEAR)
      assert(yields.arePromising(zero + Yields.DEAR))

      val took  = Yields.DEAR + 1
      val end   = zero + took
      val again = end + Yields.PAUSE * took
      yields.learn(zero, end)
      assert(!yields.arePromising(end))
      assert(!yields.arePromising(again - 1))
      assert(yields.arePromising(again))

      yields.learn(again, again + 1)
      assert(yields.arePromising(again + 1))
      assert(yields.arePromising(end), "a cheap yield ends the pause")
    }
  }
}

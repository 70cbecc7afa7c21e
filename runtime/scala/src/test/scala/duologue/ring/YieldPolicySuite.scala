package duologue

/** A thread that waits yields as long as yields are cheap, and after a slow one it sleeps at once for a while. */
final class YieldPolicySuite extends RuntimeSuite {
  for (zero <- Seq(0L, -5L, Long.MaxValue - 10)) {
    test(s"after an expensive yield there is none for a while, on a clock that shows $zero") {
      val policy = new YieldPolicy
      assert(policy.arePromising(zero))
      policy.learn(zero, zero + YieldPolicy.SLOW)
      assert(policy.arePromising(zero + YieldPolicy.SLOW))

      val took  = YieldPolicy.SLOW + 1
      val end   = zero + took
      val again = end + YieldPolicy.PAUSE * took
      policy.learn(zero, end)
      assert(!policy.arePromising(end))
      assert(!policy.arePromising(again - 1))
      assert(policy.arePromising(again))

      policy.learn(again, again + 1)
      assert(policy.arePromising(again + 1))
      assert(policy.arePromising(end), "a cheap yield ends the pause")
    }
  }
}

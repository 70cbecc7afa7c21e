package cases.calculator

import cases.Transcript
import protocols.calculator
import protocols.calculatorTypes.Failure
import protocols.calculatorTypes.Operation

object Client {
  def run(endpoint: calculator.client.Ready, transcript: Transcript): Unit = {
    val first = answer(endpoint.calculate(Operation.Add, 40L, 2L), transcript)
    val second = answer(first.calculate(Operation.Divide, -7L, 2L), transcript)
    val third = answer(second.calculate(Operation.Divide, 1L, 0L), transcript)
    val fourth = answer(third.calculate(Operation.Multiply, Long.MaxValue, 2L), transcript)
    answer(fourth.negate(42L), transcript).quit()
  }

  private def answer(endpoint: calculator.client.Answer, transcript: Transcript): calculator.client.Ready =
    endpoint.recv() match {
      case calculator.Answer.Result(value, next) =>
        transcript.line("client <- result(" + value.toString + ")")
        next
      case calculator.Answer.Failed(Failure.DividedByZero, next) =>
        transcript.line("client <- failed(divided_by_zero)")
        next
      case calculator.Answer.Failed(Failure.Overflow(of), next) =>
        transcript.line("client <- failed(overflow(" + of.toString.toLowerCase + "))")
        next
    }
}

package cases.calculator

import cases.Transcript
import protocols.calculator
import protocols.calculatorTypes.Failure
import protocols.calculatorTypes.Operation
import scala.annotation.tailrec

object Server {
  @tailrec
  def run(endpoint: calculator.server.Ready, transcript: Transcript): Unit = endpoint.recv() match {
    case calculator.Ready.Calculate(operation, left, right, next) =>
      val values = List(operation.toString.toLowerCase, left.toString, right.toString)
      transcript.line("server <- calculate(" + values.mkString(", ") + ")")
      run(calculate(operation, left, right).fold(next.failed, next.result), transcript)
    case calculator.Ready.Negate(value, next) =>
      transcript.line("server <- negate(" + value.toString + ")")
      run(next.result(-value), transcript)
    case calculator.Ready.Quit => transcript.line("server <- quit")
  }

  private def calculate(operation: Operation, left: Long, right: Long): Either[Failure, Long] =
    if (operation == Operation.Divide && right == 0) Left(Failure.DividedByZero)
    else
      try
        Right(operation match {
          case Operation.Add      => Math.addExact(left, right)
          case Operation.Subtract => Math.subtractExact(left, right)
          case Operation.Multiply => Math.multiplyExact(left, right)
          case Operation.Divide   => left / right
        })
      catch { case _: ArithmeticException => Left(Failure.Overflow(operation)) }
}

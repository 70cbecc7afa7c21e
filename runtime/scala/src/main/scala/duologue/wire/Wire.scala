package duologue

/** How values of a declared type are encoded, in the format of `docs/wire.md`. Generated with `--remote`. */
abstract class Wire[T] {

  /** Writes a value. */
  def put(out: PayloadWriter, value: T): Unit

  /** Reads a value. Throws [[MalformedPayload]] if the bytes do not encode one. */
  def get(in: PayloadReader): T
}

/** What the hard names of this folder and of `tests/names` leave to the program. */
package names {
  final class Boolean
  final class Ticket
}

package deep.er {
  final class Buffer
  final class Image
  final class Picture
}

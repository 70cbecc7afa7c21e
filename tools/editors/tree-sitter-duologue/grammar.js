// The grammar of Duologue for tree-sitter. It accepts the texts that the compiler parses without a `syntax` error, except for what is a matter of
// values and not of form: how large a number is, how deep brackets nest, how long a name is. `tests/suite/editors/tree_sitter.rs` compares the two.

/// One or more, separated by commas; a comma after the last one is fine.
const list = rule => seq(rule, repeat(seq(',', rule)), optional(','));

module.exports = grammar({
  name: 'duologue',

  // Block comments nest, which a regular expression cannot follow.
  externals: $ => [$.block_comment],
  extras: $ => [/[ \t\r\n\uFEFF]/, $.line_comment, $.doc_comment, $.file_doc_comment, $.block_comment],
  // Every keyword is contextual: where it has no meaning, it is an identifier.
  word: $ => $.identifier,

  rules: {
    source_file: $ => seq(optional($.package), repeat($.import), repeat($._item)),

    package: $ => seq('package', $.identifier, repeat(seq('.', $.identifier)), ';'),
    import: $ => seq('import', field('path', $.string), ';'),

    _item: $ => choice($.alias, $.struct, $.enum, $.extern_type, $.extern_bound, $.instance, $.protocol),

    alias: $ => seq(optional($._level_attributes), 'type', field('name', $.identifier), '=', field('type', $._type), ';'),

    struct: $ => seq(optional($._level_attributes), 'struct', field('name', $.identifier), field('body', $.fields)),
    fields: $ => seq('{', optional(list($.field)), '}'),
    field: $ => seq(field('name', $.identifier), ':', field('type', $._type)),

    enum: $ => seq(optional($._level_attributes), 'enum', field('name', $.identifier), field('body', $.variants)),
    variants: $ => seq('{', list($.variant), '}'),
    variant: $ => seq(field('name', $.identifier), optional(field('payload', $.payload))),

    extern_type: $ => seq(
      optional($._level_attributes),
      'extern', 'type', field('name', $.identifier), optional($.bounds), choice(';', $.mappings),
    ),
    extern_bound: $ => seq(
      optional($._level_attributes),
      'extern', 'bound', field('name', $.identifier), choice(';', $.mappings),
    ),
    mappings: $ => seq('{', repeat($.mapping), '}'),
    mapping: $ => choice(
      seq(field('target', choice('rust', 'scala')), '=', field('host', $.string), ';'),
      seq(
        field('target', 'c'), '=', field('host', $.string),
        optional(seq('from', field('header', $.string))),
        optional(seq('drop', field('drop', $.string))),
        ';',
      ),
    ),

    instance: $ => seq(
      optional(choice($._level_attributes, $._instance_attributes)),
      'proto', '!', field('name', $.identifier), '=', field('protocol', $.identifier), $.type_arguments, ';',
    ),

    protocol: $ => seq(
      optional(choice($._level_attributes, $._instance_attributes, $._protocol_attributes)),
      'proto', '!', field('name', $.identifier), field('body', $.states), optional(';'),
    ),
    states: $ => choice(seq('{', repeat($.state), '}'), seq('(', repeat($.state), ')')),

    state: $ => seq(
      repeat(choice(
        alias($._levels, $.attribute),
        alias($._at_most, $.attribute),
        alias($._within, $.attribute),
      )),
      field('name', $.identifier),
      optional(field('direction', $.direction)),
      optional($.type_parameters),
      field('body', $.messages),
    ),
    direction: _ => seq(':', choice('send', 'recv')),
    type_parameters: $ => seq('<', list($.type_parameter), '>'),
    type_parameter: $ => seq(field('name', $.identifier), optional($.bounds)),
    bounds: $ => seq(':', optional(seq($.identifier, repeat(seq(optional('+'), $.identifier))))),

    messages: $ => seq('{', optional(list($.message)), '}'),
    message: $ => seq(
      repeat(choice(alias($._levels, $.attribute), alias($._at_most, $.attribute))),
      field('name', $.identifier),
      optional(field('payload', $.payload)),
      '->',
      field('next', choice($.end, $.next)),
    ),
    end: _ => '!',
    next: $ => seq(field('state', $.identifier), optional($.type_arguments)),

    payload: $ => seq('(', optional(list($.entry)), ')'),
    entry: $ => seq(optional(seq(field('name', $.identifier), ':')), field('type', $._type)),

    _type: $ => choice($.list_type, $.tuple_type, $.endpoint_type, $.named_type, $.optional_type, $.owned_type),
    // `~` is before and `?` after the same type; which of them binds tighter makes no difference.
    owned_type: $ => prec(1, seq('~', $._type)),
    optional_type: $ => prec(2, seq($._type, '?')),
    list_type: $ => seq('[', $._type, optional(seq(';', field('bound', $.number))), ']'),
    tuple_type: $ => seq('(', $._type, optional(seq(repeat1(seq(',', $._type)), optional(','))), ')'),
    named_type: $ => seq(field('name', $.identifier), optional(choice($.size_bound, $.type_arguments))),
    endpoint_type: $ => seq(
      field('protocol', $.identifier), '::', field('side', choice('client', 'server', $.identifier)),
      optional(seq('::', field('state', $.identifier), repeat(seq('::', $.identifier)))),
      optional(choice($.size_bound, $.type_arguments)),
    ),
    size_bound: $ => seq('<', field('bound', $.number), '>'),
    type_arguments: $ => seq('<', list($._type), '>'),

    // Attributes before any declaration; with one that only instances and protocols have; and with one that only protocols have. What is
    // declared comes after them, so each rule goes on where the rule before it ends.
    _level_attributes: $ => repeat1(alias($._levels, $.attribute)),
    _instance_attributes: $ => choice(
      seq(optional($._level_attributes), alias($._accepts, $.attribute)),
      seq($._instance_attributes, alias(choice($._levels, $._accepts), $.attribute)),
    ),
    _protocol_attributes: $ => choice(
      seq(optional(choice($._level_attributes, $._instance_attributes)), alias(choice($._at_most, $._dual_of), $.attribute)),
      seq($._protocol_attributes, alias(choice($._levels, $._accepts, $._at_most, $._dual_of), $.attribute)),
    ),
    _levels: $ => seq('#', '[', field('name', choice('allow', 'warn', 'deny')), '(', list($.rule_name), ')', ']'),
    _at_most: $ => seq('#', '[', field('name', 'at_most'), '(', $.size, optional(','), ')', ']'),
    _within: $ => seq('#', '[', field('name', 'within'), '(', $.duration, optional(','), ')', ']'),
    _dual_of: $ => seq('#', '[', field('name', 'dual_of'), '(', list(alias($.rule_name, $.identifier)), ')', ']'),
    _accepts: $ => seq(
      '#', '[', field('name', 'accepts'), '(', field('side', choice('client', 'server')), ',', $.fingerprint, optional(','), ')', ']',
    ),
    size: $ => seq($.number, field('unit', choice('B', 'KiB', 'MiB'))),
    duration: $ => seq($.number, field('unit', choice('ms', 's', 'min', 'h'))),

    // A letter or a digit is among the characters of a name.
    identifier: _ => /_*[A-Za-z][A-Za-z0-9_]*|_+[0-9][A-Za-z0-9_]*/,
    rule_name: _ => /[A-Za-z_][A-Za-z0-9_]*(-[A-Za-z_][A-Za-z0-9_]*)*/,
    // No bound, size or duration is 0.
    number: _ => /0*[1-9][0-9]*/,
    fingerprint: _ => /[0-9A-Fa-f]{32}/,
    string: _ => /"[^"\\\n]*"/,

    doc_comment: _ => token(/\/\/\/([^/\n][^\n]*)?/),
    file_doc_comment: _ => token(/\/\/![^\n]*/),
    line_comment: _ => token(choice(/\/\/([^/!\n][^\n]*)?/, /\/\/\/\/[^\n]*/)),
  },
});

; What a tool that finds declarations lists.

(protocol name: (identifier) @name) @definition.interface
(instance name: (identifier) @name) @definition.interface
(struct name: (identifier) @name) @definition.class
(enum name: (identifier) @name) @definition.class
(alias name: (identifier) @name) @definition.type
(extern_type name: (identifier) @name) @definition.type
(extern_bound name: (identifier) @name) @definition.type
(state name: (identifier) @name) @definition.method
(message name: (identifier) @name) @definition.function

(next state: (identifier) @name) @reference.call
(instance protocol: (identifier) @name) @reference.interface
(endpoint_type protocol: (identifier) @name) @reference.interface
(named_type name: (identifier) @name) @reference.type

; Which names mean the same. States belong to their protocol, and type parameters to their state.

(source_file) @local.scope
(states) @local.scope
(state) @local.scope

(alias name: (identifier) @local.definition.type)
(struct name: (identifier) @local.definition.type)
(enum name: (identifier) @local.definition.type)
(extern_type name: (identifier) @local.definition.type)
(extern_bound name: (identifier) @local.definition.type)
(type_parameter name: (identifier) @local.definition.type)
(protocol name: (identifier) @local.definition.namespace)
(instance name: (identifier) @local.definition.namespace)

; A state is visible in its whole protocol.
(state name: (identifier) @local.definition.label (#set! "definition.label.scope" "parent"))

(named_type name: (identifier) @local.reference)
(bounds (identifier) @local.reference)
(next state: (identifier) @local.reference)
(instance protocol: (identifier) @local.reference)
(endpoint_type protocol: (identifier) @local.reference)

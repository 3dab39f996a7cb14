import { Definition } from '../../src/core/contract/schemas/definition.ts'
import { inLanguage } from '../../src/core/rules/template/definition-languages.ts'

/** A definition as a server takes it, in its default language. */
export function parseDefinition(input: unknown) {
  return inLanguage(Definition.parse(input))
}

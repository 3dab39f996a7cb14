import { Definition } from '../../src/core/contract/schemas/definition.ts'
import { inLanguage } from '../../src/core/rules/template/definition-languages.ts'

/** Parses a definition like the server, in its default language. */
export function parseDefinition(input: unknown) {
  return inLanguage(Definition.parse(input))
}

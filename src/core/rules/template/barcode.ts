import { barcodeFormats, findUndrawable, findUnfitting, foreignCharacter } from '../../barcode-formats.ts'
import type { Definition } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { barcodeMessage, DEFAULT_MESSAGE } from '../display/card.ts'
import { fill, lonePlaceholder, placeholdersIn, SCAN_PAYLOAD, type Scope } from './placeholder.ts'
import { pathOfValue } from './rendered-size.ts'
import { exampleScope } from './resolve.ts'

const PATH = ['design', 'barcode', 'message']

/** Checks that the barcode can be drawn with the examples and defaults of variables. Runs at publish. */
export function* checkBarcode(definition: Definition): Generator<Issue> {
  const { barcode } = definition.design
  if (!barcode) return
  const { format, message } = barcode
  if (message === undefined && barcodeFormats[format].needsMessage) {
    yield { path: PATH, message: `Is required for ${format}: the default {{pass.scanCode}} has letters` }
    return
  }
  const example = exampleMessage(definition)
  const reason = example.isComplete ? findUndrawable(format, example.text) : findUnfitting(format, example.text)
  if (reason) yield { path: PATH, message: `Cannot be drawn: the message ${reason}` }
}

/** Compiles the check that the barcode of a pass can be drawn. Returns `undefined` if the design has no barcode. */
export function compileBarcode(definition: Definition): ((scope: Scope) => Issue[]) | undefined {
  const { barcode } = definition.design
  if (!barcode) return undefined
  const { format } = barcode
  const names = placeholdersIn(barcode.message ?? '').filter((name) => pathOfValue(name).length > 0)
  return (scope) => {
    const isPrinted = scope.has(SCAN_PAYLOAD)
    const message = barcodeMessage(definition, scope)
    const reason = isPrinted || names.length > 0 ? findUndrawable(format, message) : undefined
    if (!reason) return []
    if (isPrinted) return [{ path: ['scanPayload'], message: `Cannot be drawn as a barcode: the message ${reason}` }]
    const cause = findCause(names, scope, (text) => foreignCharacter(format, text) !== undefined)
    return [{ path: pathOfValue(cause), message: `Results in a barcode that cannot be drawn: its message ${reason}` }]
  }
}

/**
 * Returns the variable whose value makes a text invalid: the first one with an invalid value, or else the one with the
 * longest value.
 */
export function findCause(names: readonly string[], scope: Scope, isWrong: (text: string) => boolean): string {
  const textOf = (name: string) => scope.get(name) ?? ''
  const [longest] = names.toSorted((a, b) => textOf(b).length - textOf(a).length)
  return names.find((name) => isWrong(textOf(name))) ?? longest!
}

/** Example values of system variables, with the same length and kinds of characters as real values. */
const systemExamples: Scope = new Map([
  ['pass.id', '0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27'],
  ['pass.scanCode', 'SAMPLESAMPLESAMPLESAMPLE22'],
])

interface ExampleText {
  text: string
  /** Whether all variables of the text have an example or a default. */
  isComplete: boolean
}

export function exampleText(definition: Definition, template: string): ExampleText {
  const scope = new Map([...systemExamples, ...exampleScope(definition)])
  return { text: fill(template, scope), isComplete: placeholdersIn(template).every((name) => scope.has(name)) }
}

export function exampleMessage(definition: Definition): ExampleText {
  return exampleText(definition, definition.design.barcode?.message ?? DEFAULT_MESSAGE)
}

/** Returns a valid sample, by variable name, if the whole message of the barcode is a single variable. */
export function barcodeSamples({ design: { barcode } }: Pick<Definition, 'design'>): Map<string, string> {
  const sample = barcode ? barcodeFormats[barcode.format].sample : undefined
  const name = barcode?.message === undefined ? undefined : lonePlaceholder(barcode.message)
  return new Map(sample !== undefined && name !== undefined ? [[name, sample]] : [])
}

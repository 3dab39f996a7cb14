import type { BarcodeFormat } from '../../barcode-formats.ts'
import type { Definition } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { barcodeMessage } from '../display/card.ts'
import { placeholdersIn, SCAN_PAYLOAD, type Scope } from './placeholder.ts'
import { pathOfValue } from './rendered-size.ts'
import { exampleScope } from './resolve.ts'

/** The capacity of the largest symbol of a format. The first entry whose pattern matches the whole message applies. */
interface Capacity {
  of: RegExp
  what: string
  max: number
}

const DIGITS = /^[0-9]*$/
const QR_TEXT = /^[0-9A-Z $%*+./:-]*$/
const PRINTABLE_ASCII = /^[\t\n\r -~]*$/
const LETTERS_OF_ONE_CASE = /^(?:[A-Z ]*|[a-z ]*)$/
const ANY = /^/

/**
 * From the standards ISO/IEC 18004 (version 40, level L), 15438 (level 0), and 24778 (full range, 23 % correction).
 * Code 128 (15417) has no limit. With more than this one, its thinnest bar is narrower than a pixel of any phone.
 */
const capacities: Record<BarcodeFormat, Capacity[]> = {
  qr: [
    { of: DIGITS, what: 'digits', max: 7089 },
    { of: QR_TEXT, what: 'characters', max: 4296 },
    { of: ANY, what: 'bytes', max: 2953 },
  ],
  pdf417: [
    { of: DIGITS, what: 'digits', max: 2710 },
    { of: PRINTABLE_ASCII, what: 'characters', max: 1850 },
    { of: ANY, what: 'bytes', max: 1108 },
  ],
  aztec: [
    { of: DIGITS, what: 'digits', max: 3832 },
    { of: LETTERS_OF_ONE_CASE, what: 'letters', max: 3067 },
    { of: ANY, what: 'bytes', max: 1914 },
  ],
  code128: [
    { of: DIGITS, what: 'digits', max: 256 },
    { of: ANY, what: 'characters', max: 128 },
  ],
}

const NOT_ASCII = /[^\0-\x7f]/u

/** Whether the message can be encoded in ISO 8859-1, which scanners expect. */
export function isLatin1(message: string): boolean {
  return !/[^\0-\xff]/u.test(message)
}

/** Returns why no phone can draw the message in the format, as a phrase that completes "It", or `undefined`. */
export function findUndrawable(format: BarcodeFormat, message: string): string | undefined {
  const foreign = format === 'code128' ? NOT_ASCII.exec(message)?.[0] : undefined
  if (foreign !== undefined) return `holds ${JSON.stringify(foreign)}, and code128 supports ASCII only`
  const { what, max } = capacities[format].find(({ of }) => of.test(message))!
  const size = isLatin1(message) ? message.length : Buffer.byteLength(message)
  return size > max ? `has ${size} ${what}, and ${format} holds at most ${max}` : undefined
}

/** Checks at publish, with examples and defaults, that the message can be drawn. */
export function* checkBarcode(definition: Definition): Generator<Issue> {
  const reason = undrawableMessage(definition, exampleScope(definition))
  if (reason) yield { path: ['design', 'barcode', 'message'], message: `Cannot be drawn: it ${reason}` }
}

/** Compiles the check of values and printed barcodes. Returns `undefined` if there is no barcode. */
export function compileBarcode(definition: Definition): ((scope: Scope) => Issue[]) | undefined {
  if (!definition.design.barcode) return undefined
  const names = placeholdersIn(definition.design.barcode.message ?? '').filter((name) => pathOfValue(name).length > 0)
  return (scope) => {
    const isPrinted = scope.has(SCAN_PAYLOAD)
    const reason = isPrinted || names.length > 0 ? undrawableMessage(definition, scope) : undefined
    if (!reason) return []
    if (isPrinted) return [{ path: ['scanPayload'], message: `Makes a barcode that cannot be drawn: it ${reason}` }]
    const textOf = (name: string) => scope.get(name) ?? ''
    const [longest] = names.toSorted((a, b) => textOf(b).length - textOf(a).length)
    const foreign = reason.includes('ASCII') ? names.find((name) => NOT_ASCII.test(textOf(name))) : undefined
    return [
      {
        path: pathOfValue(foreign ?? longest!),
        message: `Makes a barcode that cannot be drawn: its message ${reason}`,
      },
    ]
  }
}

function undrawableMessage(definition: Definition, scope: Scope): string | undefined {
  const { barcode } = definition.design
  return barcode ? findUndrawable(barcode.format, barcodeMessage(definition, scope)) : undefined
}

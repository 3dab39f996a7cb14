import { createPublicKey } from 'node:crypto'
import type { Definition } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { exampleText, findCause } from '../template/barcode.ts'
import { fill, placeholdersIn, SCAN_PAYLOAD, type Scope } from '../template/placeholder.ts'
import { pathOfValue } from '../template/rendered-size.ts'

/** Apple's limit for the NFC message, in bytes. */
export const MAX_NFC_BYTES = 64

export const NFC_KEY_FORM =
  'Must be the public key of the readers: on the curve P-256, X.509 SubjectPublicKeyInfo in base64'

export function isP256Key(value: string): boolean {
  try {
    const bytes = Buffer.from(value, 'base64')
    // Require canonical base64: the parser ignores invalid characters and trailing bytes, but phones reject such a key.
    const isExact = bytes.toString('base64') === value && bytes.length === 2 + bytes[1]!
    const key = createPublicKey({ key: bytes, format: 'der', type: 'spki' })
    return isExact && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    return false
  }
}

/** Checks the NFC key and message at publish. Placeholders in the message are filled with examples and defaults. */
export function* checkNfc(definition: Definition): Generator<Issue> {
  const { nfc } = definition
  if (!nfc) return
  if (!isP256Key(nfc.publicKey)) yield { path: ['nfc', 'publicKey'], message: NFC_KEY_FORM }
  const reason = findUnsendable(exampleText(definition, nfc.message).text)
  if (reason) yield { path: ['nfc', 'message'], message: `Cannot be sent to a reader: the message ${reason}` }
}

/** Compiles the check of the NFC message of a pass. Returns `undefined` if the message has no placeholder. */
export function compileNfc({ nfc }: Pick<Definition, 'nfc'>): ((scope: Scope) => Issue[]) | undefined {
  const names = placeholdersIn(nfc?.message ?? '')
  if (!nfc || names.length === 0) return undefined
  return (scope) => {
    const reason = findUnsendable(fill(nfc.message, scope))
    if (!reason) return []
    const cause = findCause(names, scope, (text) => !isAscii(text))
    const isPrinted = cause === 'pass.scanCode' && scope.has(SCAN_PAYLOAD)
    const path = isPrinted ? ['scanPayload'] : pathOfValue(cause)
    return [{ path, message: `Results in an NFC message that cannot be sent to a reader: the message ${reason}` }]
  }
}

/** Returns the reason that phones cannot send a message. A blank message is valid: the pass then has no NFC. */
function findUnsendable(message: string): string | undefined {
  if (!isAscii(message))
    return 'has characters that are not printable ASCII, and some wallets do not send such characters'
  const bytes = Buffer.byteLength(message)
  return bytes > MAX_NFC_BYTES ? `has ${bytes} bytes, and at most ${MAX_NFC_BYTES} are allowed` : undefined
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

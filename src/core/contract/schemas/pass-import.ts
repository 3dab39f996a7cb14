import { z } from 'zod'
import { addIssue, text } from './common.ts'

/** The maximum number of devices per imported pass. */
export const MAX_IMPORTED_DEVICES = 100

/** Matches text without control characters. It lists their codes, because `\P{Cc}` would require the flag `u`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to reject
const WITHOUT_CONTROL_CHARACTERS = /^[^\x00-\x1f\x7f-\x9f]*$/

/** A name without control characters, because URLs and files contain the name. */
const Name = text(1, 255).regex(WITHOUT_CONTROL_CHARACTERS, 'Must not contain control characters')

/** A device of an imported pass, as the PassKit web service identifies it. */
const ImportedDevice = z.strictObject({
  deviceLibraryIdentifier: Name,
  pushToken: z.string().regex(/^[0-9A-Za-z]{1,200}$/, 'Must be up to 200 digits and letters'),
})

/** The fields that an imported pass has in addition to those of a created pass. */
export const importedFields = {
  serialNumber: Name.optional().describe('The serial number of the pass in Apple Wallet.'),
  passTypeIdentifier: text(1, 255)
    .optional()
    .describe('The pass type of the pass. Must be the pass type of the identity.'),
  authenticationToken: z
    .string()
    .regex(/^[\x21-\x7e]{16,255}$/, 'Must be 16 to 255 printable ASCII characters, as Apple requires')
    .optional()
    .describe('The token that phones send with the serial number to fetch the pass.'),
  googleObjectId: z
    .string()
    .max(255)
    .regex(/^\d{1,32}\.[\w.-]+$/, 'Must be the ID of an object at Google: issuer, dot, name')
    .optional()
    .describe(
      'The ID of the object in Google Wallet. The object type must be that of the template, such as eventTicketObject.',
    ),
  scanPayload: text(1, 2048)
    .optional()
    .describe('The content of the barcode. If omitted, the template defines the content.'),
  status: z.enum(['ISSUED', 'VOID']).default('ISSUED'),
  devices: z
    .array(ImportedDevice)
    .max(MAX_IMPORTED_DEVICES)
    .default([])
    .describe('The Apple devices that hold the pass.'),
}

/** Checks the fields of an imported pass that depend on each other. */
export function checkImport(
  pass: z.output<z.ZodObject<typeof importedFields>>,
  context: z.core.$RefinementCtx<unknown>,
): void {
  const { serialNumber, authenticationToken, devices } = pass
  if (serialNumber === undefined && authenticationToken !== undefined)
    addIssue(context, ['authenticationToken'], 'Requires serialNumber')
  if (devices.length > 0 && (serialNumber === undefined || authenticationToken === undefined))
    addIssue(
      context,
      ['devices'],
      'Requires serialNumber and authenticationToken, which the devices use to fetch the pass',
    )
  const seen = new Set<string>()
  for (const [n, { deviceLibraryIdentifier: id }] of devices.entries()) {
    if (seen.has(id)) addIssue(context, ['devices', n], 'This device is listed twice')
    seen.add(id)
  }
}

import { z } from 'zod'
import { text } from './common.ts'

/** The content that a phone sends to NFC readers, over VAS or Smart Tap. */
export const Nfc = z.strictObject({
  /** At most 64 bytes of ASCII. It can contain placeholders. */
  message: text(1, 255),
  /** The readers' key for iPhones: on the curve P-256, as an X.509 SubjectPublicKeyInfo in base64. */
  publicKey: text(1, 255),
  /** Whether an iPhone asks for Face ID or Touch ID before it sends the message. */
  requiresAuthentication: z.boolean().optional(),
})
export type Nfc = z.output<typeof Nfc>

import { z } from 'zod'

/**
 * The warnings about a definition by their permanent code: problems that wallets accept, but holders notice. A
 * definition can list the codes of accepted warnings.
 */
export const warningTable = {
  'contrast-low': 'On an iPhone, the contrast of a text to its background is below 4.5, the minimum of WCAG.',
  'strip-contrast-low': 'On an iPhone, the primary field cannot be read over the strip image.',
  'fields-over': 'There are more fields than an iPhone shows in this style. Further fields are not shown.',
  'text-cut': 'A text is wider than a wallet shows, and its end is cut.',
  'image-missing': 'The design lacks an image that a wallet shows.',
  'image-hidden': 'No wallet shows an image of the design in the style of the pass.',
  'image-small': 'An image has too few pixels to be sharp on every phone.',
  'google-modules-over': 'There are more fields or links than Google Wallet shows, which is ten of each.',
  'flight-data-missing':
    'A boarding pass by air lacks facts that Google requires for a flight, so it is issued as a transit ticket.',
  'semantic-boarding-data-missing':
    'A boarding pass by air lacks facts that iOS 26 requires for the semantic style. Phones show the classic style.',
  'poster-event-data-missing':
    'A poster ticket lacks semantic tags that Apple requires of it. Phones can show the classic event ticket instead.',
  'translation-missing': 'A text or an image lacks one of the languages. The default language is shown instead.',
  'barcode-fallback':
    'Google Wallet does not show the message in the barcode format of the design. It shows a QR code instead.',
  'barcode-unmatched':
    'The barcode of an override has another message than `design.barcode`. Scans of that barcode find no pass.',
  'google-field-hidden':
    'A field of the front is not among the nine that fit on the front in Google Wallet. The details of the pass show it instead.',
  'google-front-empty': 'The front of the pass in Google Wallet shows none of its fields.',
  'poster-without-nfc':
    'A poster ticket has a barcode and no NFC. iPhones before iOS 27 show the classic event ticket. Publishing rejects the design unless it accepts this warning.',
} as const satisfies Record<string, string>

export type WarningCode = keyof typeof warningTable

/** The code of a warning. */
export const WarningCode = z.enum(Object.keys(warningTable) as [WarningCode, ...WarningCode[]])

/** A problem that holders would notice. Warnings do not prevent publishing, except `poster-without-nfc`. */
export const Warning = z.strictObject({
  code: WarningCode,
  /** The path of the value in the request. The first element is `definition`. */
  path: z.array(z.union([z.string(), z.int().min(0)])),
  message: z.string(),
})
export type Warning = z.output<typeof Warning>

import { z } from 'zod'

/** What a definition may do that wallets take and holders regret. Codes are stable; definitions accept them by name. */
export const warningTable = {
  'contrast-low': 'A text on an iPhone has less contrast to its background than the 4.5 that WCAG asks for.',
  'fields-over': 'There are more fields than an iPhone shows for the style; the surplus is nowhere on the pass.',
  'text-cut': 'A text is wider than a wallet shows; its end is cut.',
  'image-missing': 'A wallet wants an image that the design does not have.',
  'image-small': 'An image has too few pixels to be sharp on every phone.',
  'google-modules-over': 'There are more fields or links than the ten of each that Google Wallet shows.',
  'flight-data-missing':
    'A boarding pass by air does not say all that Google requires of a flight; it goes out as a transit ticket.',
  'google-front-empty': 'The front of the pass in Google Wallet shows none of its fields.',
} as const satisfies Record<string, string>

export type WarningCode = keyof typeof warningTable

export const WarningCode = z.enum(Object.keys(warningTable) as [WarningCode, ...WarningCode[]])

/** Something to look at before holders do: it keeps nothing from being published. */
export const Warning = z.strictObject({
  code: WarningCode,
  /** Where in the request that wrote the definition, as in the issues of a refusal: it starts with `definition`. */
  path: z.array(z.union([z.string(), z.int().min(0)])),
  message: z.string(),
})
export type Warning = z.output<typeof Warning>

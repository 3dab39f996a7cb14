import { z } from 'zod'
import { barcodeFormats } from '../../core/barcode-formats.ts'
import { PassType } from '../../core/contract/schemas/definition.ts'
import { readAppleField } from '../../core/rules/display/apple-value.ts'
import type { CardField } from '../../core/rules/display/card.ts'

/** The iOS requirements for pass.json, written independently of the code that creates passes. */

const Field = z.looseObject({
  key: z.string().min(1),
  value: z.union([z.string(), z.number()]),
  label: z.string().optional(),
  changeMessage: z.string().optional(),
})
export type PassField = z.output<typeof Field>

/** Field groups, front and back, in reading order. */
export const fieldGroups = [
  'headerFields',
  'primaryFields',
  'secondaryFields',
  'auxiliaryFields',
  'footerFields',
  'additionalInfoFields',
  'backFields',
] as const

const Fields = z.array(Field).default([])
const Style = z.looseObject({
  headerFields: Fields,
  primaryFields: Fields,
  secondaryFields: Fields,
  auxiliaryFields: Fields,
  footerFields: Fields,
  additionalInfoFields: Fields,
  backFields: Fields,
  transitType: z.string().optional(),
})
export type PassStyle = z.output<typeof Style>

const Barcode = z.looseObject({
  format: z.enum(Object.values(barcodeFormats).map(({ apple }) => apple)),
  message: z.string().min(1),
  messageEncoding: z.string().min(1),
  altText: z.string().optional(),
})

const styles = Object.fromEntries(PassType.options.map((style) => [style, Style.optional()])) as Record<
  PassType,
  z.ZodOptional<typeof Style>
>

/** The parts of pass.json that a phone reads; other keys are kept unchanged. */
export const PassJson = z
  .looseObject({
    formatVersion: z.literal(1),
    passTypeIdentifier: z.string().min(1),
    teamIdentifier: z.string().min(1),
    serialNumber: z.string().min(1),
    organizationName: z.string().min(1),
    description: z.string().min(1),
    webServiceURL: z.url(),
    authenticationToken: z.string().min(16),
    logoText: z.string().optional(),
    backgroundColor: z.string().optional(),
    foregroundColor: z.string().optional(),
    labelColor: z.string().optional(),
    barcodes: z.array(Barcode).default([]),
    locations: z
      .array(z.looseObject({ latitude: z.number(), longitude: z.number() }))
      .max(10)
      .optional(),
    expirationDate: z.iso.datetime({ offset: true }).optional(),
    voided: z.boolean().optional(),
    ...styles,
    posterGeneric: Style.optional(),
  })
  .superRefine((pass, context) => {
    const present = PassType.options.filter((style) => pass[style] !== undefined)
    if (present.length !== 1) {
      context.addIssue({ code: 'custom', message: `A pass has one style, and this one has ${present.length}` })
    }
    if (pass.boardingPass && pass.boardingPass.transitType === undefined) {
      context.addIssue({ code: 'custom', path: ['boardingPass'], message: 'A boarding pass needs a transitType' })
    }
    // Check the keys of the poster separately, because the poster repeats keys of the classic style.
    for (const fields of [present.flatMap((style) => fieldsOf(pass[style]!)), posterFieldsOf(pass)]) {
      const keys = fields.map(({ key }) => key)
      const twice = keys.find((key, index) => keys.indexOf(key) !== index)
      if (twice !== undefined) context.addIssue({ code: 'custom', message: `Two fields have the key "${twice}"` })
    }
  })
export type PassJson = z.output<typeof PassJson>

/** Returns the classic style, which iPhones before iOS 27 show. */
export function styleOf(pass: PassJson): PassStyle {
  return PassType.options.map((style) => pass[style]).find((style) => style !== undefined)!
}

/** Returns the fields of the poster, which replaces the classic style since iOS 27; an empty list without a poster. */
export function posterFieldsOf({ posterGeneric }: { posterGeneric?: PassStyle | undefined }): PassField[] {
  return posterGeneric ? fieldsOf(posterGeneric) : []
}

export function fieldsOf(style: PassStyle): PassField[] {
  return fieldGroups.flatMap((group) => style[group])
}

/** Returns a field as a phone in the given language shows the field. Virtual phones use UTC. */
export function toField({ label = '', ...field }: PassField, language: string): CardField {
  return readAppleField({ ...field, label }, { language })
}

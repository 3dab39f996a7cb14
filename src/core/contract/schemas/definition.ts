import { z } from 'zod'
import { barcodeFormatNames } from '../../barcode-formats.ts'
import { Uuid } from '../../ids.ts'
import { EventFacts, TripFacts } from './about.ts'
import { BalanceRules, Balances } from './balances.ts'
import { addIssue, text, withoutProto } from './common.ts'
import { byLanguage, type InOneLanguage, Languages, translatable } from './language-tags.ts'
import { RedemptionTemplate, Timezone } from './redemption.ts'
import { WarningCode } from './warnings.ts'

/** The kind of a pass. */
export const PassType = z.enum(['generic', 'eventTicket', 'storeCard', 'coupon', 'boardingPass'])
export type PassType = z.output<typeof PassType>

/** The format of a variable's value. */
export const VariableFormat = z.enum(['text', 'date', 'date-time', 'number', 'url', 'email', 'image'])
export type VariableFormat = z.output<typeof VariableFormat>

const VariableName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'Must be a letter followed by up to 63 letters, digits or _')

/** A variable of a template: its name, format, default, and whether it is required. */
export const VariableDefinition = z.strictObject({
  name: VariableName,
  label: text(1, 255),
  required: z.boolean().default(false),
  default: text(0, 10_000).optional(),
  format: VariableFormat.optional(),
  maxLength: z.int().min(1).max(65_536).optional(),
  example: text(0, 10_000).optional(),
})
export type VariableDefinition = z.output<typeof VariableDefinition>

const Color = z.string().regex(/^#[0-9A-Fa-f]{6}$/, 'Must be a color such as #1a2b3c')

/** The type of a field's value. */
export const ValueKind = z.enum(['text', 'number', 'percent', 'currency', 'date', 'time', 'dateTime', 'relative'])
export type ValueKind = z.output<typeof ValueKind>

const FieldKey = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'Must be 1 to 64 letters, digits, _ or -')

/** A field of a card, with its label and value. */
export const FieldDefinition = z.strictObject({
  key: FieldKey,
  label: translatable(text(0, 255)).default(''),
  value: translatable(text(0, 10_000)),
  /** The type of the value, which determines its format. Default: text. As percent, 15 means 15 %. */
  as: ValueKind.optional(),
  /** The currency of an amount: an ISO 4217 code, or the placeholder of a variable. */
  currency: text(1, 255).optional(),
  /** The style of a date or time. Default: short. */
  style: z.enum(['short', 'medium', 'long']).optional(),
  /** The alignment relative to the direction of the language. Not for primary and back fields. */
  align: z.enum(['start', 'center', 'end']).optional(),
  changeMessage: translatable(
    text(1, 255).refine((message) => message.includes('%@'), 'Must contain %@, which the new value replaces'),
  ).optional(),
})
/** A field with its texts in one language. */
export type FieldDefinition = InOneLanguage<z.output<typeof FieldDefinition>>

/** The groups of fields, in their order on a card. */
export const fieldGroups = ['header', 'primary', 'secondary', 'auxiliary', 'back'] as const
/** A group of fields. */
export type FieldGroup = (typeof fieldGroups)[number]

const fieldList = (max: number) => z.array(FieldDefinition).max(max).default([])

/** An image ID, or the placeholder of a variable with the format image. */
const ImageSource = z.union([Uuid, z.string().regex(/^\{\{[^{}]{1,128}\}\}$/)], {
  error: 'Must be the ID of an uploaded image (a UUID), or the placeholder of a variable such as {{photo}}',
})

const MAX_STATES = 100

/** Returns the schema of a choice: a value per state of a pass. The state is the filled text of `by`. */
const choiceOf = <Value extends z.ZodType>(value: Value) =>
  z.strictObject({
    by: text(1, 255),
    /** The value for each state. A state is empty if `by` is filled with an empty text. */
    map: withoutProto(z.record(text(0, 255), value)).refine(
      (map) => Object.keys(map).length <= MAX_STATES,
      `Must have at most ${MAX_STATES} states`,
    ),
    /** The value for all other states. If omitted, a pass in another state has no value. */
    else: value.optional(),
  })

/** An image: the same for all passes, from a variable of the pass, or selected by the state of the pass. */
export const ImageChoice = z.union([ImageSource, choiceOf(ImageSource)], {
  error: 'Must be the ID of an uploaded image, {{variable}}, or { by, map, else } with such images',
})
export type ImageChoice = z.output<typeof ImageChoice>

/** The property names of a choice. An object with one of these names is a choice, not a set of images per language. */
const keysOfChoice = choiceOf(ImageSource).keyof().options as readonly string[]

/** An image: the same in each language, or one per language. */
export const DesignImage = z.union(
  [
    ImageChoice,
    byLanguage(ImageChoice).refine(
      (images) => !keysOfChoice.some((key) => key in images),
      'Must be { by, map, else }, or have one image for each language',
    ),
  ],
  {
    error:
      'Must be the ID of an uploaded image, {{variable}}, { by, map, else } with such images, or one of these for ' +
      'each language such as { "pt": …, "en": … }',
  },
)
export type DesignImage = z.output<typeof DesignImage>

/** A color: the same for all passes, or selected by the state of the pass. */
export const ColorChoice = z.union([Color, choiceOf(Color)], {
  error: 'Must be a color such as #1a2b3c, or { by, map, else } with such colors',
})
export type ColorChoice = z.output<typeof ColorChoice>

/** The positions of images on a card. */
export const imageRoles = [
  'icon',
  'logo',
  'strip',
  'thumbnail',
  'hero',
  'background',
  'artwork',
  'primaryLogo',
  'secondaryLogo',
  'footer',
] as const
/** The position of an image on a card. */
export type ImageRole = (typeof imageRoles)[number]

/** The card of a pass on both platforms: texts, colors, images, fields, and barcode. */
export const Design = z.strictObject({
  organizationName: translatable(text(1, 255)),
  description: translatable(text(1, 1000)),
  logoText: translatable(text(0, 255)).optional(),
  colors: z
    .strictObject({
      background: ColorChoice.optional(),
      foreground: ColorChoice.optional(),
      label: ColorChoice.optional(),
    })
    .default({}),
  images: z
    .strictObject(
      Object.fromEntries(imageRoles.map((role) => [role, DesignImage.optional()])) as {
        [Role in ImageRole]: z.ZodOptional<typeof DesignImage>
      },
    )
    .default({}),
  fields: z
    .strictObject({
      header: fieldList(3),
      primary: fieldList(3),
      secondary: fieldList(8),
      auxiliary: fieldList(8),
      back: fieldList(50),
    })
    .default({ header: [], primary: [], secondary: [], auxiliary: [], back: [] }),
  barcode: z
    .strictObject({
      format: z.enum(barcodeFormatNames).default('qr'),
      message: text(1, 2048).optional(),
      altText: translatable(text(0, 255)).optional(),
    })
    .nullable()
    .default({ format: 'qr' }),
  locations: z
    .array(
      z.strictObject({
        latitude: z.number().min(-90).max(90),
        longitude: z.number().min(-180).max(180),
        relevantText: translatable(text(1, 255)).optional(),
      }),
    )
    .max(10)
    .default([]),
  relevantDate: text(1, 255).optional(),
  links: z
    .array(z.strictObject({ label: translatable(text(1, 255)), url: text(1, 2048) }))
    .max(20)
    .default([]),
})
export type Design = z.output<typeof Design>

/** Rejects the keys that only the service sets, because an override would break the pass. */
function withoutReserved<Schema extends z.ZodType<object>>(schema: Schema, reserved: readonly string[]) {
  return withoutProto(schema).superRefine((overrides, context) => {
    for (const key of reserved) {
      if (key in overrides) addIssue(context, [key], 'Is set by the service and cannot be overridden')
    }
  })
}

/** Overrides for Apple Wallet: keys of pass.json whose values replace those of the service. */
export const AppleOverrides = withoutReserved(
  z.looseObject({
    transitType: z
      .enum(['PKTransitTypeAir', 'PKTransitTypeBoat', 'PKTransitTypeBus', 'PKTransitTypeGeneric', 'PKTransitTypeTrain'])
      .optional(),
    /**
     * Whether phones show a poster: since iOS 18 for an event ticket, and since iOS 27 for a generic pass, a store
     * card, or a coupon. Older phones show the classic style.
     */
    poster: z.boolean().optional(),
  }),
  [
    'formatVersion',
    'passTypeIdentifier',
    'teamIdentifier',
    'serialNumber',
    'webServiceURL',
    'authenticationToken',
    'voided',
    'expirationDate',
  ],
)
export type AppleOverrides = z.output<typeof AppleOverrides>

/** The kinds of passes in Google Wallet. */
export const GoogleKind = z.enum(['generic', 'eventTicket', 'loyalty', 'offer', 'giftCard', 'flight', 'transit'])
export type GoogleKind = z.output<typeof GoogleKind>

const platformKeys = withoutReserved(z.record(z.string(), z.unknown()), ['id', 'classId', 'state'])

/** Options and overrides for Google Wallet. The values in `class` and `object` replace those of the service. */
export const GoogleOverrides = z.strictObject({
  kind: GoogleKind.optional(),
  /** The key of the class, with placeholders. Passes with the same filled key share a class. */
  classKey: text(1, 1024).optional(),
  /** The key of the field that shows the points of a loyalty card. */
  points: FieldKey.optional(),
  /** The keys of the fields in each row of the front. Default: the front fields in order, at most three per row. */
  rows: z.array(z.array(FieldKey).min(1).max(3)).min(1).max(3).optional(),
  /** The externalPassIds of linked passes. They can contain placeholders. */
  linkedPasses: z.array(text(1, 255)).max(10).optional(),
  class: platformKeys.optional(),
  object: platformKeys.optional(),
})
export type GoogleOverrides = z.output<typeof GoogleOverrides>

/** The pass details that the operator at the door sees. Wallets do not show them. */
export const DoorInstructions = z.strictObject({
  /** The names of the variables to show, with their labels, to the operator. */
  show: z.array(VariableName).max(10).default([]),
  /** An instruction for the operator, such as an item to hand out. It can contain placeholders. */
  notice: translatable(text(1, 500)).optional(),
})
export type DoorInstructions = z.output<typeof DoorInstructions>

/** The content that a phone sends to NFC readers, over VAS or Smart Tap. */
export const Nfc = z.strictObject({
  /** The message to NFC readers: at most 64 bytes of ASCII. It can contain placeholders. */
  message: text(1, 255),
  /** The public key of the NFC readers, required for iPhones: P-256, as an X.509 SubjectPublicKeyInfo in base64. */
  publicKey: text(1, 255),
  /** Whether an iPhone requires Face ID or Touch ID to send the message. */
  requiresAuthentication: z.boolean().optional(),
})
export type Nfc = z.output<typeof Nfc>

/** The content of a template version: its variables, its design, and the rules for its passes. */
export const Definition = z.strictObject({
  variables: z.array(VariableDefinition).max(200).default([]),
  /** The languages of the texts. If omitted, texts are in one language, which counts as English. */
  languages: Languages.optional(),
  design: Design,
  /**
   * The time zone in which a pass shows times, and in which days begin and end. A relevantDate without a time means the
   * start of its day, and an expiresAt without a time the end. If omitted, days are in UTC.
   */
  timeZone: Timezone.optional(),
  nfc: Nfc.optional(),
  apple: AppleOverrides.optional(),
  google: GoogleOverrides.optional(),
  expiresAt: text(1, 255).nullable().default(null),
  redemption: RedemptionTemplate.optional(),
  balances: Balances.optional(),
  balanceRules: BalanceRules.optional(),
  photo: text(1, 2048).optional(),
  door: DoorInstructions.optional(),
  event: EventFacts.optional(),
  trip: TripFacts.optional(),
  /** The group of a pass. Passes with the same filled key, such as the tickets of an order, form a group. */
  group: z.strictObject({ key: text(1, 255) }).optional(),
  accept: z.array(WarningCode).max(50).optional(),
})
/** A definition as written and stored. Its texts can be in several languages. */
export type WrittenDefinition = z.output<typeof Definition>
/** A definition with its texts in one language (see core/rules/template/definition-languages.ts). */
export type Definition = InOneLanguage<WrittenDefinition>
/** Returns the overrides for each platform. */
export function overridesOf<T extends Overrides>({ apple, google }: T) {
  return { apple, google }
}

/** The overrides of a definition. */
export type Overrides = Pick<WrittenDefinition, 'apple' | 'google'>

/** A definition in a request, where properties with a default are optional. */
export type DefinitionInput = z.input<typeof Definition>

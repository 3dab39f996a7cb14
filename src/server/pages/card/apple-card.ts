import { z } from 'zod'
import type { ImageRole, PassType } from '../../../core/contract/definition.ts'
import type { Card, CardField } from '../../../core/rules/display/card.ts'
import { parseRgb } from '../../../core/rules/display/colors.ts'

/** The images that each style shows on its front. */
const roles: Record<PassType, readonly ImageRole[]> = {
  generic: ['logo', 'thumbnail'],
  eventTicket: ['logo', 'strip', 'thumbnail'],
  storeCard: ['logo', 'strip'],
  coupon: ['logo', 'strip'],
  boardingPass: ['logo'],
}

const text = z.string().optional().catch(undefined)
const Field = z.object({ key: z.string(), label: z.string().default(''), value: z.coerce.string() })
const Fields = z.array(z.unknown()).catch([])
const Style = z.object({
  headerFields: Fields,
  primaryFields: Fields,
  secondaryFields: Fields,
  auxiliaryFields: Fields,
  backFields: Fields,
  transitType: z.unknown().optional(),
})
const Visible = z.object({
  organizationName: text,
  description: text,
  logoText: text,
  backgroundColor: text,
  foregroundColor: text,
  labelColor: text,
})

/** A card as an iPhone shows it: what its pass.json says, with the images that its style has a place for. */
export function appleCard(card: Card, passJson: Record<string, unknown>): Card {
  const shown = Visible.parse(passJson)
  const style = Style.parse(passJson[card.passType] ?? {})
  return {
    ...card,
    organizationName: shown.organizationName ?? '',
    description: shown.description ?? '',
    // Without a logo text nothing is written: the name of the organization stands in lists and notifications.
    logoText: shown.logoText ?? null,
    colors: {
      background: parseRgb(shown.backgroundColor),
      foreground: parseRgb(shown.foregroundColor),
      label: parseRgb(shown.labelColor),
    },
    images: imagesOf(card),
    apple: { transitType: style.transitType },
    fields: {
      header: fieldsOf(style.headerFields),
      primary: fieldsOf(style.primaryFields),
      secondary: fieldsOf(style.secondaryFields),
      auxiliary: fieldsOf(style.auxiliaryFields),
      back: fieldsOf(style.backFields),
    },
    // They stand among the fields of the back.
    links: [],
  }
}

function imagesOf({ passType, images }: Card): Card['images'] {
  const shown = roles[passType].filter((role) => images[role] !== undefined)
  // A strip leaves no place for a thumbnail.
  const fitting = shown.includes('strip') ? shown.filter((role) => role !== 'thumbnail') : shown
  return Object.fromEntries(fitting.map((role) => [role, images[role]]))
}

function fieldsOf(values: unknown[]): CardField[] {
  return values.flatMap((value) => Field.safeParse(value).data ?? [])
}

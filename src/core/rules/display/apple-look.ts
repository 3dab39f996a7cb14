import { z } from 'zod'
import { barcodeFormatOf, barcodeFormats } from '../../barcode-formats.ts'
import type { PassType } from '../../contract/schemas/definition.ts'
import { readAppleFields } from './apple-value.ts'
import type { Card } from './card.ts'
import { parseRgb } from './colors.ts'
import type { ValueLocale } from './format-value.ts'

const text = z.string().optional().catch(undefined)
const Barcode = z.object({ format: text, message: z.string(), altText: text })
const Visible = z.object({
  organizationName: text,
  description: text,
  logoText: text,
  backgroundColor: text,
  foregroundColor: text,
  labelColor: text,
  barcodes: z.array(Barcode).catch([]),
  barcode: Barcode.optional().catch(undefined),
})

export type AppleLook = Pick<Card, 'organizationName' | 'description' | 'logoText' | 'colors' | 'fields' | 'barcode'>

interface Phone {
  /** The type of the pass, which is also the key of its classic style. */
  passType: PassType
  locale: ValueLocale
  /** The major version of iOS. Default: the newest. */
  ios?: number
}

/** Returns the parts of a pass.json that an iPhone shows in the classic style. */
export function readAppleLook(passJson: Record<string, unknown>, { passType, locale, ios = 27 }: Phone): AppleLook {
  const shown = Visible.parse(passJson)
  const style = Object(passJson[passType])
  const fieldsOf = (group: string) => readAppleFields(style[group], locale)
  const barcode = shown.barcodes.find(({ format }) => ios >= 27 || isBeforeIos27(format)) ?? shown.barcode
  return {
    organizationName: shown.organizationName ?? '',
    description: shown.description ?? '',
    // Do not fall back to the organization's name: phones show it only in lists and notifications, not on the pass.
    logoText: shown.logoText ?? null,
    colors: {
      background: parseRgb(shown.backgroundColor),
      foreground: parseRgb(shown.foregroundColor),
      label: parseRgb(shown.labelColor),
    },
    fields: {
      header: fieldsOf('headerFields'),
      primary: fieldsOf('primaryFields'),
      secondary: fieldsOf('secondaryFields'),
      auxiliary: fieldsOf('auxiliaryFields'),
      back: fieldsOf('backFields'),
    },
    barcode: {
      format: barcodeFormatOf('apple', barcode?.format) ?? 'qr',
      message: barcode?.message ?? '',
      altText: barcode?.altText ?? null,
    },
  }
}

/** Whether iOS versions before 27 support a barcode format. Only the formats that are new in iOS 27 have a fallback. */
function isBeforeIos27(name: string | undefined): boolean {
  const format = barcodeFormatOf('apple', name)
  return format !== undefined && barcodeFormats[format].fallback === undefined
}

/** The keys of pass.json, at any depth, with texts that phones translate. */
export const translatedKeys: ReadonlySet<string | number | undefined> = new Set([
  'organizationName',
  'description',
  'logoText',
  'label',
  'value',
  'attributedValue',
  'changeMessage',
  'altText',
  'relevantText',
  // Semantic tags that posters and suggestions show.
  'eventName',
  'venueName',
  'departureAirportName',
  'destinationAirportName',
  'departureCityName',
  'destinationCityName',
  'departureStationName',
  'destinationStationName',
  'departureLocationDescription',
  'destinationLocationDescription',
])

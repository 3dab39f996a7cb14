import { z } from 'zod'
import type { BarcodeFormat, PassType } from '../../../core/contract/definition.ts'
import type { CardField } from '../../../core/rules/card.ts'
import { type Face, notShown } from '../face.ts'
import type { GooglePass } from '../state.ts'
import { messagesOf } from './messages.ts'

/** What is read off an object and its class; whatever has another shape is not shown. */
const Localized = z
  .object({ defaultValue: z.object({ value: z.string() }) })
  .transform((text) => text.defaultValue.value)
const text = z.union([z.string(), Localized]).optional().catch(undefined)
const TextModule = z.object({
  id: z.string().default(''),
  header: z.string().default(''),
  body: z.string().default(''),
})
const Visible = z.object({
  cardTitle: text,
  issuerName: text,
  eventName: text,
  programName: text,
  title: text,
  header: text,
  subheader: text,
  state: z.string().default('active'),
  hexBackgroundColor: z
    .string()
    .regex(/^#[0-9a-f]{6}$/i)
    .nullable()
    .catch(null),
  barcode: z
    .object({ type: z.string(), value: z.string(), alternateText: z.string().optional() })
    .optional()
    .catch(undefined),
  textModulesData: z.array(TextModule).catch([]),
  linksModuleData: z
    .object({ uris: z.array(z.object({ uri: z.string(), description: z.string().default('Link') })) })
    .catch({ uris: [] }),
  classTemplateInfo: z.unknown().optional(),
})

/** A pass as Google Wallet shows it: on the front stand the rows that the class names. */
export function googleFace({ objectId, kind, object, class: ofClass }: GooglePass): Face {
  const own = Visible.parse(object)
  const common = Visible.parse(ofClass)
  const modules = new Map(own.textModulesData.map((module) => [module.id, toField(module)]))
  const [first = [], second = [], ...others] = templateRows(common.classTemplateInfo)
  const onFront = new Set([first, second, ...others].flat())
  const row = (ids: string[]) => ids.flatMap((id) => modules.get(id) ?? [])
  const title = own.header ?? common.eventName ?? common.programName ?? common.title
  const name = own.cardTitle ?? common.issuerName ?? ''
  return {
    id: objectId,
    card: {
      ...notShown,
      passType: passTypes.get(kind) ?? 'generic',
      organizationName: name,
      description: title ?? name,
      logoText: null,
      colors: { background: own.hexBackgroundColor ?? common.hexBackgroundColor, foreground: null, label: null },
      fields: {
        header: [],
        primary: title === undefined ? [] : [{ key: 'header', label: own.subheader ?? '', value: title }],
        secondary: row(first),
        auxiliary: row([...second, ...others.flat()]),
        back: [
          ...own.textModulesData.filter(({ id }) => !onFront.has(id)).map(toField),
          ...messagesOf(object).map(({ header, body }, n) => ({ key: `message-${n}`, label: header, value: body })),
        ],
      },
      barcode: {
        format: formats.get(own.barcode?.type ?? '') ?? 'qr',
        message: own.barcode?.value ?? '',
        altText: own.barcode?.alternateText ?? null,
      },
      links: own.linksModuleData.uris.map(({ uri, description }) => ({ label: description, url: uri })),
      expiresAt: null,
      voided: own.state.toLowerCase() === 'inactive',
    },
    stamp: own.state.toLowerCase() === 'active' ? null : own.state.toUpperCase(),
  }
}

const passTypes = new Map<string, PassType>([
  ['eventTicket', 'eventTicket'],
  ['loyalty', 'storeCard'],
  ['offer', 'coupon'],
  ['flight', 'boardingPass'],
  ['transit', 'boardingPass'],
])

const formats = new Map<string, BarcodeFormat>([
  ['QR_CODE', 'qr'],
  ['PDF_417', 'pdf417'],
  ['AZTEC', 'aztec'],
  ['CODE_128', 'code128'],
])

const TEXT_MODULE = /^object\.textModulesData\['([^']+)'\]$/

/** The ids of the text modules in each row: whatever stands in the template, in the order in which it stands there. */
function templateRows(info: unknown): string[][] {
  const rows = z
    .object({ cardTemplateOverride: z.object({ cardRowTemplateInfos: z.array(z.unknown()) }) })
    .safeParse(info).data?.cardTemplateOverride.cardRowTemplateInfos
  return (rows ?? []).map((row) => fieldPaths(row).flatMap((path) => TEXT_MODULE.exec(path)?.[1] ?? []))
}

function fieldPaths(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'fieldPath' && typeof inner === 'string' ? [inner] : fieldPaths(inner),
  )
}

function toField({ id, header, body }: z.output<typeof TextModule>): CardField {
  return { key: id, label: header, value: body }
}

import { z } from 'zod'
import type { Route } from '../route.ts'
import * as balances from './balances.ts'
import { contract } from './contract.ts'
import * as identities from './identities.ts'
import * as joinPages from './join-pages.ts'
import * as broadcasts from './messages/broadcasts.ts'
import * as notifications from './messages/notifications.ts'
import * as passes from './passes.ts'
import * as projects from './projects.ts'
import * as doors from './scans/doors.ts'
import * as scanner from './scans/scanner.ts'
import * as scans from './scans/scans.ts'
import * as zones from './scans/zones.ts'
import * as about from './schemas/about.ts'
import * as balanceDefinitions from './schemas/balances.ts'
import * as common from './schemas/common.ts'
import * as definition from './schemas/definition.ts'
import * as languageTags from './schemas/language-tags.ts'
import * as passFilter from './schemas/pass-filter.ts'
import * as platform from './schemas/platform.ts'
import * as redemption from './schemas/redemption.ts'
import * as scanShapes from './schemas/scan-shapes.ts'
import * as warnings from './schemas/warnings.ts'
import * as images from './templates/images.ts'
import * as templateVersions from './templates/template-versions.ts'
import * as templates from './templates/templates.ts'
import * as upgrades from './templates/upgrades.ts'
import * as wallets from './wallets.ts'
import * as deliveries from './webhooks/deliveries.ts'
import { type EventType, eventData } from './webhooks/event-data.ts'
import * as webhooks from './webhooks/webhooks.ts'
import * as workspace from './workspace.ts'

const modules: object[] = [
  balances,
  broadcasts,
  deliveries,
  doors,
  identities,
  images,
  joinPages,
  notifications,
  passes,
  projects,
  scanner,
  scans,
  about,
  balanceDefinitions,
  common,
  definition,
  languageTags,
  passFilter,
  platform,
  redemption,
  scanShapes,
  warnings,
  templateVersions,
  templates,
  upgrades,
  wallets,
  webhooks,
  workspace,
  zones,
]

/** The names in /openapi.json of the schemas whose exports have another name. */
const renamed: Record<string, string> = {
  Attempt: 'DeliveryAttempt',
  CurrentToken: 'Token',
  DeliveryEventType: 'EventType',
  ErrorBody: 'Error',
  ErrorBodyWithoutCode: 'ErrorWithoutCode',
  MessageCreate: 'NotificationCreate',
  ScanRecord: 'Scan',
}

/** Matches the schemas that have no name in /openapi.json: simple values, and some parts of a definition. */
const UNNAMED =
  /^(?:Balance(?:Delta|Name|Rules|s)|CalendarDate|Count|ExternalPassId|PositiveInt|PreviewLanguage|TemplateKey|Timezone|(?:Utc)?Timestamp)$/

/** Matches the names of the schemas of request bodies and their parts. */
const REQUEST = /(?:Create|Update|Write|Import|Transfer|Reversal)$|^OfflineScan$|^PolicyReplay$/

const exported: [string, z.ZodType][] = modules
  .flatMap((exports) => Object.entries(exports))
  .filter(([name, value]) => value instanceof z.ZodType && !UNNAMED.test(name))
  .map(([name, schema]) => [renamed[name] ?? name, schema])

const nameOf = new Map(exported.map(([name, schema]) => [schema, name]))

/** The schemas of list pages, each with a name such as PassPage. */
const pages = Object.values(contract)
  .flatMap((routes): Route[] => Object.values(routes))
  .flatMap(({ responses: { 200: page } }): [string, z.ZodType][] => {
    const isPage = page instanceof z.ZodObject && 'nextCursor' in page.shape && !nameOf.has(page)
    const item = isPage ? nameOf.get(page.shape.items.element) : undefined
    return item ? [[`${item}Page`, page!]] : []
  })

/** The schema of each event by its type: the envelope with the data of the event. */
export const eventBodies = new Map<EventType, z.ZodType>(
  Object.entries(eventData).map(([type, data]) => [
    type as EventType,
    z.strictObject({ ...deliveries.Envelope.shape, type: z.literal(type), data }),
  ]),
)

/** The schemas of events by their name, such as PassIssuedEvent for pass.issued. */
const events = Object.fromEntries([...eventBodies].map(([type, body]) => [`${toPascalCase(type)}Event`, body]))

function toPascalCase(type: string): string {
  return type.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The schemas of request bodies and their parts, by their name in /openapi.json. */
export const requestEntities: Record<string, z.ZodType> = Object.fromEntries(
  exported.filter(([name]) => REQUEST.test(name)),
)

/**
 * The schemas of responses, by their name in /openapi.json. A request that contains the same object uses a schema with
 * the suffix `Input`, which forbids unknown properties.
 */
export const entities: Record<string, z.ZodType> = {
  ...Object.fromEntries(exported.filter(([name]) => !REQUEST.test(name))),
  ...Object.fromEntries(pages),
  ...events,
}

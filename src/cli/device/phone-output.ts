import { PassType } from '../../core/contract/schemas/definition.ts'
import { readAppleLook } from '../../core/rules/display/apple-look.ts'
import { readGoogleView } from '../../core/rules/display/google-view.ts'
import { type Poster, readPoster } from '../../core/rules/display/poster.ts'
import { readSemanticFields } from '../../core/rules/display/semantic-boarding.ts'
import { type CardJson, drawCard, type PictureOptions } from '../card-picture.ts'
import { printable } from '../command/output.ts'
import { PassJson } from './apple-pass-json.ts'
import { passIn } from './apple-strings.ts'
import {
  type Device,
  type GooglePass,
  type IosVersion,
  messagesOf,
  NEWEST_IOS,
  type PassChange,
} from './phone-store.ts'

interface Looks {
  card: CardJson
  /** The look on newer iPhones. `since` is the first version of iOS that shows this look. */
  newer?: { card: CardJson; since: number; kind: 'poster' | 'semantic' } | undefined
}

interface ShownPass extends Looks {
  /** The serial number of an iPhone's pass, or the object id of an Android phone's pass. */
  id: string
  stamp: string | null
}

/** Empty values for the card properties that phones do not receive or do not show. */
const notShown = { images: {}, locations: [], relevantDate: null, apple: {}, google: {} }

export async function drawDevice(device: Device, options: PictureOptions, only?: ReadonlySet<string>): Promise<string> {
  const passes = shownPasses(device).filter(({ id }) => only === undefined || only.has(id))
  if (passes.length === 0) return `${device.name} holds no pass.`
  const ofPhone = { ...options, platform: device.platform }
  return (await Promise.all(passes.map((pass) => drawPass(pass, ofPhone)))).join('\n\n')
}

/** Describes a phone and its passes for scripts, without its secrets. */
export function describeDevice(device: Device) {
  const { name, platform, language } = device
  if (device.platform === 'apple') {
    const passes = device.passes.map(({ content, strings, ...times }) => {
      const { authenticationToken: _, ...shown } = passIn({ content, strings }, language)
      return { pass: content.serialNumber, ...times, content: shown }
    })
    return { name, platform, language, ios: device.ios, passes }
  }
  const passes = device.passes.map(({ objectId, directory: _, ...pass }) => ({ pass: objectId, ...pass }))
  return { name, platform, language, passes }
}

/**
 * Formats an update as the lock screen shows it, under the name of the organization. An update without a banner is
 * silent.
 */
export function bannerLines(device: Device, { pass, banners }: PassChange): string {
  const texts = banners.length > 0 ? banners : ['(updated silently)']
  return [titleOf(device, pass), ...texts].map((text) => `▌ ${printable(text)}`).join('\n')
}

async function drawPass({ stamp, ...looks }: ShownPass, options: PictureOptions): Promise<string> {
  const picture = await drawLooks(looks, options)
  return stamp === null ? picture : `*** ${printable(stamp)} ***\n${picture}`
}

/** Draws a card. If the pass has a newer look, draws this look first, and then the card as older iPhones show it. */
export async function drawLooks({ card, newer }: Looks, options: PictureOptions): Promise<string> {
  const classic = await drawCard(card, options)
  if (!newer) return classic
  const { since, kind } = newer
  const drawn = await drawCard(newer.card, { ...options, isPoster: kind === 'poster' })
  const title = kind === 'semantic' ? `Since iOS ${since} (approximation):\n` : ''
  return `${title}${drawn}\n\nBefore iOS ${since}:\n${classic}`
}

function titleOf(device: Device, id: string): string {
  return shownPasses(device).find((pass) => pass.id === id)?.card.organizationName ?? ''
}

function shownPasses(device: Device): ShownPass[] {
  return device.platform === 'apple'
    ? device.passes.map(({ content, strings }) => {
        const read = passIn({ content, strings }, device.language)
        return {
          id: content.serialNumber,
          ...looksOf(read, device),
          stamp: stampOf(content, new Date()),
        }
      })
    : device.passes.map((pass) => shownOnGoogle(pass, device.language))
}

/** Returns the cards that iPhones show for a preview; `undefined` if an iPhone would reject the pass. */
export function previewedByApple(preview: unknown, language = 'en'): Looks | undefined {
  const { data } = PassJson.safeParse(preview)
  return data && looksOf(data, { language, ios: NEWEST_IOS })
}

/** Returns an iPhone pass as a card. The texts of the pass must already be translated. */
function appleCard(pass: PassJson, { language, ios }: ApplePhone): CardJson {
  const passType = PassType.options.find((type) => pass[type] !== undefined)!
  return {
    ...notShown,
    passType,
    ...readAppleLook(pass, { passType, locale: { language }, ios }),
    links: [],
    expiresAt: pass.expirationDate ?? null,
    voided: pass.voided ?? false,
  }
}

type ApplePhone = { language: string; ios: IosVersion }

/**
 * Returns the card of an iPhone pass. If the phone's version of iOS has a newer look, `newer` is that look, and `card`
 * is the look of earlier versions.
 */
function looksOf(pass: PassJson, phone: ApplePhone): Looks {
  const older = appleCard(pass, { ...phone, ios: 26 })
  const semantic = readSemanticFields(pass, phone)
  if (semantic) {
    const card = { ...appleCard(pass, phone), fields: { ...semantic, back: older.fields.back } }
    return { card: older, newer: { card, since: 26, kind: 'semantic' } }
  }
  const poster = readPoster(pass, phone)
  if (!poster || phone.ios < poster.since) return { card: appleCard(pass, phone) }
  return { card: older, newer: { card: posterCard(pass, poster, phone), since: poster.since, kind: 'poster' } }
}

function posterCard(pass: PassJson, poster: Poster, phone: ApplePhone): CardJson {
  const classic = appleCard(pass, phone)
  const barcode = poster.hasBarcode ? classic.barcode : { ...classic.barcode, message: '', altText: null }
  const expiresAt = poster.style === 'posterGeneric' ? classic.expiresAt : null
  return { ...classic, fields: posterFields(poster), barcode, expiresAt }
}

function posterFields(poster: Poster): CardJson['fields'] {
  if (poster.style === 'posterGeneric') {
    const { header, primary, footer, details } = poster
    return { header, primary, secondary: footer, auxiliary: [], back: details }
  }
  const { event, venue, starts, seat } = poster
  return {
    header: starts === null ? [] : [{ key: 'starts', label: '', value: starts }],
    primary: [{ key: 'event', label: venue, value: event }],
    secondary: seat,
    auxiliary: [],
    back: [],
  }
}

function stampOf({ voided, expirationDate }: PassJson, at: Date): string | null {
  if (voided) return 'VOID'
  return expirationDate !== undefined && new Date(expirationDate) <= at ? 'EXPIRED' : null
}

/** Returns a Google Wallet pass as a card: the front shows the rows that the class specifies. */
function shownOnGoogle({ objectId, kind, object, class: ofClass }: GooglePass, language: string): ShownPass {
  const view = readGoogleView(ofClass, object, language)
  const { name, title, subtitle, background, rows, details, links, barcode, state } = view
  const [first = [], ...others] = rows
  return {
    id: objectId,
    card: {
      ...notShown,
      passType: passTypes.get(kind) ?? 'generic',
      organizationName: name,
      description: title ?? name,
      logoText: null,
      colors: { background, foreground: null, label: null },
      fields: {
        header: [],
        primary: title === null ? [] : [{ key: 'header', label: subtitle ?? '', value: title }],
        secondary: first,
        auxiliary: others.flat(),
        back: [
          ...details,
          ...messagesOf({ object, class: ofClass }, language).map(({ header, body }, n) => ({
            key: `message-${n}`,
            label: header,
            value: body,
          })),
        ],
      },
      barcode,
      links,
      expiresAt: null,
      voided: state === 'INACTIVE',
    },
    stamp: state === 'ACTIVE' ? null : state,
  }
}

const passTypes = new Map<string, PassType>([
  ['eventTicket', 'eventTicket'],
  ['loyalty', 'storeCard'],
  ['offer', 'coupon'],
  ['flight', 'boardingPass'],
  ['transit', 'boardingPass'],
])

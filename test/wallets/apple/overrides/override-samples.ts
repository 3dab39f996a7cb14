import { z } from 'zod'
import type { PassType } from '../../../../src/core/contract/schemas/definition.ts'
import { FeaturedAction, Field, Overrides } from '../../../../src/wallets/apple/overrides/pass-json-schema.ts'

/** Overrides with every key that the tables know, and each way to get one of them wrong. */

export type Path = (string | number)[]

export const NFC_KEY = 'MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgACWpF1zC3h+dCh+eWyqV8unVddh2LQaUoV8LQrgb3BKkM='

const candidates: unknown[] = [
  'Text',
  '2027-05-31T19:30+02:00',
  '#1a2b3c',
  'EUR',
  'utf-8',
  'Europe/Lisbon',
  'https://example.com/',
  '5A4BCFCE-174E-4BAC-A814-092E77F6B7E5',
  NFC_KEY,
  1,
  true,
]
const wrong: unknown[] = ['no such thing', 0.5, -1, true, [], {}, ['a', 7]]

/** Fields that cannot be combined with the value of the sample. */
const leftOut = new Map<z.ZodType, string[]>([
  [Field, ['dateStyle', 'timeStyle']],
  [FeaturedAction, ['placeIdentifier']],
])

/** Returns overrides with every key of a style. */
export function fullOverrides(passType: PassType): Record<string, unknown> {
  const otherStyles = ['generic', 'eventTicket', 'storeCard', 'coupon', 'boardingPass'].filter(
    (one) => one !== passType,
  )
  const full = rightValue(Overrides, []) as Record<string, unknown>
  // The service sets whether a pass is void.
  return Object.fromEntries(Object.entries(full).filter(([key]) => key !== 'voided' && !otherStyles.includes(key)))
}

function rightValue(type: z.ZodType, path: Path): unknown {
  const inner = bare(type)
  if (inner instanceof z.ZodArray) return [rightValue(inner.element as z.ZodType, [...path, 0])]
  // Tags are tested separately, and not in each field.
  if (path.at(-1) === 'semantics' && path.length > 1) return {}
  if (inner instanceof z.ZodObject) {
    const keys = Object.keys(inner.shape).filter((key) => !leftOut.get(inner)?.includes(key))
    return Object.fromEntries(keys.map((key) => [key, rightValue(inner.shape[key] as z.ZodType, [...path, key])]))
  }
  if (path.at(-1) === 'contactVenueEmail') return 'desk@example.com'
  // Keys of fields must be unique.
  if (path.at(-1) === 'key') return path.join('-')
  if (path.at(-1) === 'url') return 'https://example.com/'
  const value = [...candidates, ...namesOf(inner)].find((candidate) => inner.safeParse(candidate).success)
  return path.at(-1) === 'value' ? 1 : value
}

/** Returns the allowed words of a type, from the message of its rejection. */
function namesOf(type: z.ZodType): string[] {
  const message = type.safeParse('no such thing').error?.issues[0]?.message
  return message?.startsWith('Must be one of ') ? message.slice('Must be one of '.length).split(', ') : []
}

export interface Mistake {
  path: Path
  value: unknown
}

/** Yields each mistake that the tables define. Keys that occur twice in a type are used once. */
export function* mistakesIn(
  value: unknown,
  type: z.ZodType = Overrides,
  path: Path = [],
  seen = new Set<z.ZodType>(),
): Generator<Mistake> {
  const inner = bare(type)
  if (path.length > 0) for (const bad of wrong) if (!inner.safeParse(bad).success) yield { path, value: bad }
  if (inner instanceof z.ZodArray) {
    yield* mistakesIn((value as unknown[])[0], inner.element as z.ZodType, [...path, 0], seen)
  }
  if (!(inner instanceof z.ZodObject) || seen.has(inner) || Object.keys(value as object).length === 0) return
  seen.add(inner)
  for (const [key, item] of Object.entries(value as object)) {
    yield* mistakesIn(item, inner.shape[key] as z.ZodType, [...path, key], seen)
  }
}

/** Returns the overrides with the mistake, limited to the part that the mistake is in and the keys that it requires. */
export function withMistake(full: Record<string, unknown>, { path, value }: Mistake): Record<string, unknown> {
  const [top = '', next] = path
  const branch = full[top]
  // Tags and groups of fields are independent, so keep only the one with the mistake.
  const isWide = typeof branch === 'object' && !Array.isArray(branch) && Object.keys(branch!).length > 4
  const kept = isWide && next !== undefined ? { [next]: (branch as Record<string, unknown>)[next] } : branch
  const beside = top === 'appLaunchURL' ? { associatedStoreIdentifiers: [1] } : {}
  return replaced({ ...beside, [top]: kept }, path, value) as Record<string, unknown>
}

function replaced(current: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value
  const copy = (Array.isArray(current) ? [...current] : { ...(current as object) }) as Record<string | number, unknown>
  copy[key] = replaced(copy[key], rest, value)
  return copy
}

function bare(type: z.ZodType): z.ZodType {
  return type instanceof z.ZodOptional ? bare(type.unwrap() as z.ZodType) : type
}

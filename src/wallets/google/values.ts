import type { ImageRole } from '../../core/contract/definition.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { GoogleIssuer } from './resource.ts'

// Values carry no language of their own, and Google wants one; readers see the text whatever it says.
const LANGUAGE = 'en'

export function localized(value: string) {
  return { defaultValue: { language: LANGUAGE, value } }
}

/** The first text that shows something: Google refuses empty ones. */
export function firstText(...texts: (string | null | undefined)[]): string | undefined {
  return texts.find((text) => text !== null && text !== undefined && text.trim() !== '') ?? undefined
}

/** The organization's name, or whatever else the card calls itself; never empty. */
export function nameOf(card: Card): string {
  return firstText(card.organizationName, card.logoText, card.description) ?? 'Pass'
}

/** The image of the first of the roles that has one; undefined where none has or Google could not fetch it. */
export function image({ publicUrl }: GoogleIssuer, card: Card, ...roles: ImageRole[]) {
  const id = roles.map((role) => card.images[role]).find((candidate) => candidate !== undefined)
  if (id === undefined || !publicUrl.startsWith('https://')) return undefined
  return { sourceUri: { uri: `${publicUrl}/images/${id}` }, contentDescription: localized(nameOf(card)) }
}

export function backgroundOf(card: Card): string | undefined {
  return card.colors.background ?? undefined
}

/** The record without the keys that have no value. */
export function compact(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
}

import type { DefinitionInput, PassType } from '../../core/contract/schemas/definition.ts'
import { TemplateKey } from '../../core/contract/templates/templates.ts'
import { plainPng } from '../../files/plain-png.ts'
import { UsageError } from '../command/cli-error.ts'
import boardingPass from './starters/boarding-pass.json' with { type: 'json' }
import coupon from './starters/coupon.json' with { type: 'json' }
import eventTicket from './starters/event-ticket.json' with { type: 'json' }
import flight from './starters/flight.json' with { type: 'json' }
import loyalty from './starters/loyalty.json' with { type: 'json' }
import membership from './starters/membership.json' with { type: 'json' }

/** The template files of `template init`, which can be published unchanged. */
const starters = {
  'event-ticket': eventTicket,
  loyalty,
  coupon,
  'boarding-pass': boardingPass,
  flight,
  membership,
}

export type StarterKind = keyof typeof starters
export const starterKinds = Object.keys(starters) as StarterKind[]

export interface StarterFacts {
  key: string
  name: string
  organization: string
  /** The path of the icon, relative to the template file. */
  icon: string
}

/** The side of the icon, in pixels. The icon is sharp even in a wallet that shows it as the logo. */
export const ICON_SIDE = 660

/** Creates a template file and the icon that publishing can require. @throws UsageError if the key is not valid */
export function starterFiles(kind: StarterKind, facts: StarterFacts) {
  const { background } = starters[kind].definition.design.colors
  return {
    template: `${JSON.stringify(starterTemplate(kind, facts), undefined, 2)}\n`,
    image: plainPng(ICON_SIDE, ICON_SIDE, background),
  }
}

/** @throws UsageError if the key is not valid */
export function starterTemplate(kind: StarterKind, { key, name, organization, icon }: StarterFacts) {
  requireKey(key)
  const { passType, definition, ...starter } = starters[kind]
  const content = definition as DefinitionInput
  return {
    ...starter,
    key,
    name,
    passType: passType as PassType,
    definition: { ...content, design: { ...content.design, organizationName: organization, images: { icon } } },
  }
}

/** @throws UsageError if the key is not valid */
export function requireKey(key: string): void {
  if (TemplateKey.safeParse(key).success) return
  throw new UsageError(`"${key}" cannot be a key`, {
    hint: '--key must be up to 64 lowercase letters, digits, or hyphens.',
  })
}

/** Returns the key from `--key`, or derives one from the name. @throws UsageError if the name has no letters */
export function chooseKey(key: string | undefined, name: string): string {
  const chosen = key ?? keyOf(name)
  if (chosen !== '') return chosen
  throw new UsageError(`No key can be derived from the name "${name}"`, {
    hint: 'give one with --key, such as day-ticket.',
  })
}

/** Derives a key from a name: "Café crème 2027" becomes cafe-creme-2027. Returns an empty text if no letters remain. */
export function keyOf(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 64)
}

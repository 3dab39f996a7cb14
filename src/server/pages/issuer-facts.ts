import type { Definition } from '../../core/contract/schemas/definition.ts'
import { sharedColor } from '../../core/rules/display/colors.ts'
import { resolveImages } from '../../core/rules/template/image-choice.ts'
import { fill, placeholdersIn, type SystemVariable } from '../../core/rules/template/placeholder.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'

/** Facts about a pass that anyone can see, for example in chat previews. They contain no data of the holder. */
export interface IssuerFacts {
  /** The name of the issuer. Empty if the name contains a value of a holder. */
  organization: string
  template: string
  /** The kind of pass, as the definition describes it. Empty if the description contains a value of a holder. */
  description: string
  /** The ID of the hero image or, if there is none, of the strip. */
  pictureId: string | undefined
  iconId: string | undefined
  /** The color as `#rrggbb`. */
  background: string | undefined
  contacts: Contact[]
  languages: Definition['languages']
}

export interface Contact {
  label: string
  /** A URL with the scheme tel, mailto, or https. */
  url: string
}

const MAX_CONTACTS = 5

/** Returns the issuer's facts. Omits texts that contain a value of a pass. */
export function issuerFacts(
  { design, languages }: Pick<Definition, 'design' | 'languages'>,
  { templateName, projectName }: Pick<StoredPass, 'templateName' | 'projectName'>,
): IssuerFacts {
  const known: Partial<Record<SystemVariable, string>> = { 'template.name': templateName }
  if (projectName !== null) known['project.name'] = projectName
  const scope = new Map(Object.entries(known))
  const shared = (text: string) =>
    placeholdersIn(text).every((name) => scope.has(name)) ? fill(text, scope).trim() : ''
  const { icon, hero, strip } = resolveImages({ design }, scope)
  const contacts = [
    ...design.links.map(({ label, url }) => ({ label: shared(label), url: shared(url) })),
    ...design.fields.back.map(({ label, value }) => ({ label: shared(label), url: shared(value) })),
  ]
  return {
    organization: shared(design.organizationName),
    template: templateName,
    description: shared(design.description),
    pictureId: hero ?? strip,
    iconId: icon,
    background: sharedColor(design.colors.background),
    contacts: contacts.filter(({ url }) => isContact(url)).slice(0, MAX_CONTACTS),
    languages,
  }
}

function isContact(text: string): boolean {
  return /^(?:https:\/\/|mailto:|tel:)[^\s]+$/i.test(text) && URL.canParse(text)
}

import type { Definition } from '../../core/contract/definition.ts'
import { sharedColor } from '../../core/rules/display/colors.ts'
import { resolveImages } from '../../core/rules/template/image-choice.ts'
import { fill, placeholdersIn, type SystemVariable } from '../../core/rules/template/placeholder.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'

/** What a page may say of a pass to anyone, in a chat too: who issued it and how it looks, and nothing of its holder. */
export interface IssuerFacts {
  /** Empty where the definition has no name of its own, but that of a holder. */
  organization: string
  /** The name of the template. */
  template: string
  /** What kind of pass it is, as the definition says it. Empty where that holds a value of a holder. */
  description: string
  /** The id of a wide picture. */
  pictureId: string | undefined
  iconId: string | undefined
  /** `#rrggbb`. */
  background: string | undefined
  contacts: Contact[]
  /** Of the texts of the definition, where it names them. */
  languages: Definition['languages']
}

/** A way to reach the issuer, out of the links and the back fields of a definition. */
export interface Contact {
  label: string
  /** tel:, mailto: or https: */
  url: string
}

/** A page names the first of them. */
const MAX_CONTACTS = 5

/** Of a definition, whatever is the same for every holder; what holds a placeholder of one pass stays out. */
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

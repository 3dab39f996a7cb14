import type { Definition } from '../../contract/definition.ts'
import type { Issue } from '../../errors.ts'
import { fill, placeholdersIn, type Scope } from './placeholder.ts'
import { pathOfValue } from './rendered-size.ts'

/** Schemes that open a page, a call, a message, or a map, and never run what the link holds. */
const schemes = ['https', 'http', 'tel', 'mailto', 'sms', 'geo']

const WANTED = `start with ${schemes.map((scheme) => `${scheme}:`).join(', ')}`

/** Whether a link has one of these schemes, or none, such as `www.example.com`. */
export function isSafeLink(url: string): boolean {
  // Browsers skip spaces and control characters.
  const scheme = /^([a-z][a-z\d+.-]*):/i.exec(url.replaceAll(/[\0- \x7f-\xa0]/g, ''))?.[1]
  return scheme === undefined || schemes.includes(scheme.toLowerCase())
}

/** Links that are unsafe by the definition alone: by their text, and by examples and defaults of variables. */
export function* checkLinks({ design, variables }: Definition): Generator<Issue> {
  const known = new Map(
    variables.flatMap(({ name, example, default: fallback }) => {
      const value = example ?? fallback
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
  for (const [index, { url }] of design.links.entries()) {
    if (!isSafeLink(fill(url, known))) yield { path: ['design', 'links', index, 'url'], message: `Must ${WANTED}` }
  }
}

/** The check of values that decide the scheme of a link; undefined if there are none. */
export function compileLinks({ design }: Definition): ((scope: Scope) => Issue[]) | undefined {
  const links = design.links.flatMap(({ url }) => {
    const name = placeholdersIn(url).find((one) => pathOfValue(one).length > 0)
    return name === undefined ? [] : [{ url, path: pathOfValue(name) }]
  })
  if (links.length === 0) return undefined
  return (scope) =>
    links.flatMap(({ url, path }) =>
      isSafeLink(fill(url, scope)) ? [] : [{ path, message: `Makes a link that is not allowed: it must ${WANTED}` }],
    )
}

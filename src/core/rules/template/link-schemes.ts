import { type Definition, overridesOf } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { fill, placeholdersIn, type Scope, stringsDeep } from './placeholder.ts'
import { pathOfValue } from './rendered-size.ts'
import { exampleScope } from './resolve.ts'

/** The safe schemes: they open a page, a call, a message, or a map, and never run the content of the link. */
const schemes = ['https', 'http', 'tel', 'mailto', 'sms', 'geo']

/** The schemes that run or read the content of the link. Links to apps can have any other scheme. */
const unsafeSchemes = ['javascript', 'data', 'file', 'vbscript', 'blob', 'about']

const WANTED = `start with ${schemes.map((scheme) => `${scheme}:`).join(', ')}`
const WANTED_OF_APP = `not start with ${unsafeSchemes.map((scheme) => `${scheme}:`).join(', ')}`

/** Whether a link has a safe scheme, or no scheme (such as `www.example.com`). */
export function isSafeLink(url: string): boolean {
  const scheme = schemeOf(url)
  return scheme === undefined || schemes.includes(scheme)
}

/** Whether a link has a scheme, and the scheme is safe. (Wallets and browsers do not add a missing scheme.) */
export function isAbsoluteLink(url: string): boolean {
  return URL.canParse(url) && isSafeLink(url)
}

function isSafeAppLink(url: string): boolean {
  return !unsafeSchemes.includes(schemeOf(url) ?? '')
}

function schemeOf(url: string): string | undefined {
  // Remove spaces and control characters. Browsers ignore them, so they could hide an unsafe scheme.
  return /^([a-z][a-z\d+.-]*):/i.exec(url.replaceAll(/[\0- \x7f-\xa0]/g, ''))?.[1]?.toLowerCase()
}

/** Reports links that are unsafe when filled with the examples and defaults of variables. Runs at publish. */
export function* checkLinks(definition: Definition): Generator<Issue> {
  const known = exampleScope(definition)
  for (const { text, path, isSafe, wanted } of linksOf(definition)) {
    if (!isSafe(fill(text, known))) yield { path, message: `Must ${wanted}` }
  }
}

/** Compiles the check of the links of a pass. Returns `undefined` if no value in a request affects a link. */
export function compileLinks(definition: Definition): ((scope: Scope) => Issue[]) | undefined {
  const links = [...linksOf(definition)].flatMap((link) => {
    const name = placeholdersIn(link.text).find((one) => pathOfValue(one).length > 0)
    return name === undefined ? [] : [{ ...link, path: pathOfValue(name) }]
  })
  if (links.length === 0) return undefined
  return (scope) =>
    links.flatMap(({ text, path, isSafe, wanted }) =>
      isSafe(fill(text, scope)) ? [] : [{ path, message: `Results in a forbidden link: the link must ${wanted}` }],
    )
}

interface Link {
  text: string
  path: Issue['path']
  isSafe: (text: string) => boolean
  wanted: string
}

/** Yields the links of the design and of the overrides. */
function* linksOf(definition: Definition): Generator<Link> {
  for (const [index, { url }] of definition.design.links.entries()) {
    // Some wallets omit a link without a scheme. Check only constants, because a value can contain the scheme.
    const isSafe = placeholdersIn(url).length > 0 ? isSafeLink : isAbsoluteLink
    yield { text: url, path: ['design', 'links', index, 'url'], isSafe, wanted: WANTED }
  }
  for (const { text, path } of stringsDeep(overridesOf(definition))) {
    const key = path.at(-1)
    if (key === 'appLaunchURL' || path.includes('appLinkData')) {
      yield { text, path, isSafe: isSafeAppLink, wanted: WANTED_OF_APP }
    } else if (key === 'attributedValue') {
      yield { text, path, isSafe: hasSafeLinks, wanted: `link only to addresses that ${WANTED}` }
    } else if (key === 'uri' || key === 'url' || /(?:URL|Website)$/.test(String(key))) {
      yield { text, path, isSafe: isSafeLink, wanted: WANTED }
    }
  }
}

/** Whether every link of an HTML text is safe. A link is unsafe if a character reference could hide its scheme. */
function hasSafeLinks(html: string): boolean {
  const urls = [...html.matchAll(/href\s*=\s*(?:"([^"]*)|'([^']*)|([^\s>]*))/gi)].map((match) =>
    match.slice(1).join(''),
  )
  return urls.every((url) => isSafeLink(url) && !/^[^:/?]*&/.test(url))
}

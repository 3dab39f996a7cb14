import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import { SetupError } from '../../core/errors.ts'
import { type Asset, asset } from './assets.ts'

/** The official wallet buttons. The platforms forbid redrawing them, so the operator must license and provide them. */
export interface Badges {
  /** Returns the first badge found for: the language, such as `pt-BR`; the language without its region; English. */
  find(platform: Platform, language: string): Asset | undefined
  all: Asset[]
}

/** No badges: pages show text buttons. */
export const noBadges: Badges = { find: () => undefined, all: [] }

class BadgeError extends SetupError {
  override readonly name = 'BadgeError'
}

const MAX_FILES = 100
const MAX_BYTES = 256 * 1024
const FALLBACK = 'en'

const contentTypes: Record<string, string> = { '.svg': 'image/svg+xml', '.png': 'image/png' }

/** Reads the badges of a folder, such as `apple/pt-BR.png`. @throws BadgeError if the folder is not valid */
export function loadBadges(folder: string): Badges {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new BadgeError(`--badges: there is no folder ${folder}.`)
  }
  const found = new Map<string, Asset>()
  for (const platform of platforms) {
    for (const name of namesIn(join(folder, platform))) {
      const badge = readBadge(join(folder, platform, name), platform)
      const key = keyOf(platform, badge.language)
      if (found.has(key))
        throw new BadgeError(`${folder} holds two badges of ${platform} for ${badge.language}: remove one.`)
      found.set(key, badge.file)
    }
  }
  if (found.size === 0) {
    throw new BadgeError(
      `${folder} holds no badges: put them there as ${platforms.map((one) => `${one}/en.svg`).join(', ')}, apple/de.png and so on.`,
    )
  }
  return {
    find: (platform, language) =>
      [language, language.split('-')[0]!, FALLBACK]
        .map((tag) => found.get(keyOf(platform, tag)))
        .find((badge) => badge !== undefined),
    all: [...found.values()],
  }
}

function keyOf(platform: Platform, language: string): string {
  return `${platform}/${language.toLowerCase()}`
}

/** Returns the names of the files that are not hidden; none if the folder is missing. */
function namesIn(folder: string): string[] {
  let names: string[]
  try {
    names = readdirSync(folder).filter((name) => !name.startsWith('.'))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw unreadable(folder, cause)
  }
  if (names.length > MAX_FILES)
    throw new BadgeError(`${folder} holds ${names.length} files: at most ${MAX_FILES} are read.`)
  return names.toSorted()
}

function readBadge(path: string, platform: Platform): { language: string; file: Asset } {
  const extension = extname(path).toLowerCase()
  const contentType = contentTypes[extension]
  const name = path.slice(path.lastIndexOf('/') + 1, path.length - extension.length)
  const language = canonicalLanguage(name)
  if (!contentType || !language) {
    throw new BadgeError(`${path} is not named like a badge: a language and .svg or .png, as in de.svg or pt-BR.png.`)
  }
  const content = readBounded(path)
  if (!isOfType(content, contentType))
    throw new BadgeError(`${path} is named like ${contentType}, but has other content.`)
  return { language, file: asset(`badge-${platform}-${language}${extension}`, contentType, content, SEALED) }
}

/** The policy of a badge. Without this policy, an SVG that is opened directly could run or load anything. */
const SEALED = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" }

/**
 * Returns the language of a file name. Accepts underscores for hyphens, as in `pt_BR`. Rejects words that only have the
 * shape of a language tag.
 */
function canonicalLanguage(name: string): string | undefined {
  if (!/^[a-z]{2,3}(?![a-z])/i.test(name)) return undefined
  try {
    return Intl.getCanonicalLocales(name.replaceAll('_', '-'))[0]
  } catch {
    return undefined
  }
}

function readBounded(path: string): Buffer {
  try {
    const facts = statSync(path)
    if (!facts.isFile()) throw new BadgeError(`${path} is not a file.`)
    if (facts.size > MAX_BYTES)
      throw new BadgeError(`${path} has ${facts.size} bytes: a badge can have at most ${MAX_BYTES}.`)
    return readFileSync(path)
  } catch (cause) {
    throw cause instanceof BadgeError ? cause : unreadable(path, cause)
  }
}

function unreadable(path: string, cause: unknown): BadgeError {
  return new BadgeError(`${path} cannot be read: ${(cause as Error).message}`, { cause })
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

function isOfType(content: Buffer, contentType: string): boolean {
  if (contentType === 'image/png') return content.subarray(0, PNG.length).equals(PNG)
  const text = content.toString('utf8')
  return text.trimStart().startsWith('<') && text.includes('<svg')
}

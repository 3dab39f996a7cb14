import { cultures } from './cultures.ts'
import type { Random } from './random.ts'

export interface Person {
  name: string
  /** The name in small Latin letters and dots, as the local part of an e-mail address. */
  handle: string
}

/** A person from anywhere; now and then with a nickname, a title, two family names or an emoji. */
export function person(random: Random): Person {
  const culture = random.weighted(stock)
  const given = random.pick(culture.given)
  const family = random.pick(culture.family)
  const second = culture.order === 'given family' && random.chance(0.04) ? random.pick(culture.family) : family
  const familyName = second.native === family.native ? family.native : `${family.native}-${second.native}`
  const name = decorate(arrange(culture.order, given.native, familyName), given.latin, random)
  return { name, handle: `${given.latin}.${family.latin}` }
}

function arrange(order: string, given: string, family: string): string {
  if (order === 'familygiven') return family + given
  return order === 'family given' ? `${family} ${given}` : `${given} ${family}`
}

const emoji = ['🎤', '🦊', '🌻', '👩🏽‍💻', '🧑‍🚀', '🇵🇹', '🏳️‍🌈', '☕️', '🚲', '✨']
const titles = [', PhD', ', Jr.', ', MSc, MBA', ' (she/her)', ' (they/them)', ' & guest']
const nicknames = ['Zee', 'Ace', 'Kit', 'the Voice', 'Pixel']

function decorate(name: string, latin: string, random: Random): string {
  const kind = random.below(100)
  if (kind < 3) return `${name} ${random.pick(emoji)}`
  if (kind < 6) return name + random.pick(titles)
  if (kind < 8) return name.replace(/ |$/, ` "${random.pick(nicknames)}" `).trim()
  if (kind < 9) return `${name} (${latin.charAt(0).toUpperCase()}${latin.slice(1)})`
  return name
}

const latinLetters: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  þ: 'th',
  ı: 'i',
}

const stock = cultures.map(
  ({ weight, order, given, family }) => [{ order, given: parse(given), family: parse(family) }, weight] as const,
)

function parse(list: string): { native: string; latin: string }[] {
  return list.split(', ').map((entry) => {
    const [native, latin] = entry.split(':')
    return { native: native!, latin: latin ?? romanize(native!) }
  })
}

function romanize(name: string): string {
  return name
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z]/g, (letter) => latinLetters[letter] ?? '')
}

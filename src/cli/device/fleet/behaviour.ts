import { UsageError } from '../../command/errors.ts'
import type { Random } from './seeded-random.ts'

/** How the phones of a fleet treat what they are told. Times are seconds of their own clock, which a fleet may let run faster. */
export interface Behaviour {
  name: BehaviourName
  /** Between a push and the moment when the phone asks what changed; null where it never asks. */
  answersAfter: readonly [least: number, most: number] | null
  /** It asks no more often than this. */
  atMostEvery: number
  /** Whether it fetches what it is told of; else it shows the old pass for good. */
  fetches: boolean
}

const DAY = 86_400

const ofName = {
  /** In somebody's hand. */
  awake: { answersAfter: [0, 2], atMostEvery: 0, fetches: true },
  /** Switched off, or without a network: it comes back after days. */
  asleep: { answersAfter: [DAY, 7 * DAY], atMostEvery: 0, fetches: true },
  /** Ignores pushes: automatic updates are off for the pass. */
  deaf: { answersAfter: null, atMostEvery: 0, fetches: true },
  /** iOS lets a pass that changes often wait. */
  throttled: { answersAfter: [0, 2], atMostEvery: 3600, fetches: true },
  /** On a poor network. */
  slow: { answersAfter: [20, 120], atMostEvery: 0, fetches: true },
  /** Asks what changed and keeps what it has. */
  stuck: { answersAfter: [0, 2], atMostEvery: 0, fetches: false },
} as const satisfies Record<string, Omit<Behaviour, 'name'>>

/** How a phone of a fleet behaves, as `device fleet` names it. */
export type BehaviourName = keyof typeof ofName

/** Every behaviour, by name. */
export const behaviours = Object.entries(ofName).map(([name, rest]) => ({ name, ...rest }) as Behaviour)

/** Phones of a fleet by their behaviour; the numbers are shares of any sum. */
export type Mix = ReadonlyMap<Behaviour, number>

/** Sums of such shares are finite, and of any use. */
const MOST = 1e9

/**
 * A mix as it is written: awake=90,asleep=5,deaf=5.
 * @throws UsageError
 */
export function parseMix(text: string): Mix {
  const mix = new Map<Behaviour, number>()
  for (const part of text.split(',')) {
    const [name, share = '', ...rest] = part.trim().split('=')
    const behaviour = behaviours.find((known) => known.name === name)
    const number = Number(share)
    if (!behaviour || rest.length > 0 || share === '' || !(number >= 0 && number < MOST) || mix.has(behaviour)) {
      throw new UsageError(`--mix holds "${part}"`, {
        hint: `write name=share, each once: awake=90,asleep=5,deaf=5. Names: ${behaviours.map((one) => one.name).join(', ')}.`,
      })
    }
    mix.set(behaviour, number)
  }
  if (sum(mix) > 0) return mix
  throw new UsageError(`--mix ${text} holds no phone`)
}

/** The behaviours of so many phones in an order by chance, in numbers as near to the mix as whole phones are. */
export function dealBehaviours(mix: Mix, phones: number, random: Random): Behaviour[] {
  const total = sum(mix)
  const dealt: Behaviour[] = []
  let upTo = 0
  for (const [behaviour, share] of mix) {
    upTo += share
    while (dealt.length < Math.round((upTo / total) * phones)) dealt.push(behaviour)
  }
  return random.shuffle(dealt)
}

function sum(mix: Mix): number {
  return [...mix.values()].reduce((one, other) => one + other, 0)
}

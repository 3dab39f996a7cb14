import type { Random } from '../random.ts'

/** The reaction of a fleet's phones to pushes. Times are seconds on the phone's clock, which a fleet can accelerate. */
export interface Behaviour {
  name: BehaviourName
  /** The delay between a push and the query for changes; `null` if the phone never asks. */
  answersAfter: readonly [least: number, most: number] | null
  /** The minimum interval between queries. */
  atMostEvery: number
  /** Whether the phone fetches changes. If not, it shows the old pass forever. */
  fetches: boolean
}

const DAY = 86_400

const ofName = {
  /** In use: the phone reacts to a push immediately. */
  awake: { answersAfter: [0, 2], atMostEvery: 0, fetches: true },
  /** Off or without a network: the phone returns after days. */
  asleep: { answersAfter: [DAY, 7 * DAY], atMostEvery: 0, fetches: true },
  /** Ignores pushes: automatic updates of the pass are off. */
  deaf: { answersAfter: null, atMostEvery: 0, fetches: true },
  /** iOS delays updates of a pass that changes often. */
  throttled: { answersAfter: [0, 2], atMostEvery: 3600, fetches: true },
  /** On a poor network: the phone reacts after up to two minutes. */
  slow: { answersAfter: [20, 120], atMostEvery: 0, fetches: true },
  /** The phone queries changes and does not fetch them. */
  stuck: { answersAfter: [0, 2], atMostEvery: 0, fetches: false },
} as const satisfies Record<string, Omit<Behaviour, 'name'>>

/** The name of a behavior, as `npm run fleet` accepts it. */
export type BehaviourName = keyof typeof ofName

export const behaviours = Object.entries(ofName).map(([name, rest]) => ({ name, ...rest }) as Behaviour)

/** The distribution of behaviors; the numbers are relative shares. */
export type Mix = ReadonlyMap<Behaviour, number>

/** The maximum share, which keeps sums finite and precise. */
const MOST = 1e9

/** Parses a mix, such as `awake=90,asleep=5,deaf=5`. @throws Error if the text is not a mix */
export function parseMix(text: string): Mix {
  const mix = new Map<Behaviour, number>()
  for (const part of text.split(',')) {
    const [name, share = '', ...rest] = part.trim().split('=')
    const behaviour = behaviours.find((known) => known.name === name)
    const number = Number(share)
    if (!behaviour || rest.length > 0 || share === '' || !(number >= 0 && number < MOST) || mix.has(behaviour)) {
      const names = behaviours.map((one) => one.name).join(', ')
      throw new Error(`--mix holds "${part}". Write name=share, each once: awake=90,asleep=5,deaf=5. Names: ${names}.`)
    }
    mix.set(behaviour, number)
  }
  if (sum(mix) > 0) return mix
  throw new Error(`--mix ${text} holds no phone`)
}

/** Assigns behaviors to phones in random order, as close to the mix as whole numbers allow. */
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

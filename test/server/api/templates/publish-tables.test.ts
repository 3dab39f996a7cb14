import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  Definition,
  type DefinitionInput,
  type GoogleKind,
  PassType,
} from '../../../../src/core/contract/schemas/definition.ts'
import { checkDefinition } from '../../../../src/core/rules/template/definition.ts'
import { inLanguage } from '../../../../src/core/rules/template/definition-languages.ts'
import { samplePass } from '../../../../src/server/pages/card/card-preview.ts'
import { findPlatformIssues } from '../../../../src/server/pages/card/platform-issues.ts'
import { type AppleWallet, createAppleWallet } from '../../../../src/wallets/apple/apple-wallet.ts'
import { PassJson } from '../../../../src/wallets/apple/overrides/pass-json-schema.ts'
import { type RecordType, typeOf } from '../../../../src/wallets/google/fields.ts'
import { createGoogleWallet } from '../../../../src/wallets/google/google-wallet.ts'
import { checkResource } from '../../../../src/wallets/sandbox/google/google-store.ts'
import { parseDefinition } from '../../../support/definitions.ts'
import { isLong } from '../../../support/long.ts'
import { at, createTestIdentity, webServiceUrl } from '../../../wallets/apple/fixtures.ts'
import * as apple from '../../../wallets/apple/overrides/override-samples.ts'
import * as google from '../../../wallets/google/field-samples.ts'
import { allKinds, design, identity, publicUrl } from '../../../wallets/google/samples.ts'

/** Checks the errors of publishing against those of the consumers of its output. */

// The package does not export its schemas.
const schemas = join(import.meta.dirname, '../../../../node_modules/passkit-generator/lib/cjs/schemas/index.js')
const { PassProps } = createRequire(import.meta.url)(schemas)

const styles = PassType.options
const googleWallet = createGoogleWallet({ identity, publicUrl })
let appleWallet: AppleWallet

beforeAll(async () => {
  const { identity: signer } = await createTestIdentity()
  appleWallet = createAppleWallet({ identity: signer, webServiceUrl, loadImageFiles: async () => [] })
})

/** Checks a definition like publishing does. Returns the paths of the errors, or none if it can be published. */
async function publish(input: unknown, passType: PassType): Promise<string[]> {
  const { data, error } = Definition.safeParse(input)
  if (!data) return error.issues.map(({ path }) => path.join('.'))
  const issues = checkDefinition(data)
  if (issues.length === 0) {
    const wallets = { all: [appleWallet, googleWallet] }
    issues.push(...(await findPlatformIssues(inLanguage(data), passType, { wallets, hasProject: true, now: at })))
  }
  return issues.map(({ path }) => path.join('.'))
}

const define = (overrides: Pick<DefinitionInput, 'apple' | 'google'>): DefinitionInput => ({
  // The full overrides of an event ticket ask for a poster, which needs an artwork.
  design: { ...design, images: { artwork: randomUUID() } },
  ...overrides,
})
const jsonOf = (definition: DefinitionInput, passType: PassType) =>
  JSON.parse(JSON.stringify(appleWallet.passJson(samplePass(parseDefinition(definition), passType))))

/** Returns the responses of the Google emulator to the class and the object of a definition. */
function answersOf(definition: DefinitionInput, passType: PassType): boolean[] {
  const kind = definition.google!.kind!
  const pass = samplePass(parseDefinition(definition), passType)
  const resources = [
    ['Class', googleWallet.classOf(pass)],
    ['Object', googleWallet.objectOf(pass, at)],
  ] as const
  return resources.map(([role, resource]) => checkResource(kind, role, resource, identity.issuerId).ok)
}

const roles = ['Class', 'Object'] as const
const seen = new Set<RecordType>()
/** Checks each mistake that several kinds and roles share once. */
const inGoogle = allKinds.flatMap((kind) =>
  roles.map((role) => {
    const mistakes = [...google.mistakesIn(typeOf(kind, role), [], seen)]
    // Publishing rejects these keys with any value.
    return [kind, role, mistakes.filter(({ path }) => !google.rejectedKeys.includes(String(path[0])))] as const
  }),
)

describe.each(allKinds)('of the kind %s', (kind) => {
  const own = allKinds.indexOf(kind)
  // Two styles for each kind, and each style with two or three kinds. The long form combines all.
  const some = styles.filter((_, n) => isLong || n === own % styles.length || n === (own + 1) % styles.length)

  test.each(some)('publishes a %s with every field of both platforms, which all accept', async (passType) => {
    // Each style has all of its Apple fields with one of the kinds only.
    const isFull = own === styles.indexOf(passType)
    const full = google.fullOverrides(kind, typeOf)
    // A definition cannot have every field of both.
    for (const part of [{ class: full.class }, { object: full.object }]) {
      const definition = define({
        google: { kind, class: neededOf(kind, 'Class'), object: neededOf(kind, 'Object'), ...part },
        apple: isFull ? apple.fullOverrides(passType) : { transitType: 'PKTransitTypeTrain' },
      })
      expect(await publish(definition, passType)).toEqual([])
      expect(answersOf(definition, passType)).toEqual([true, true])
      const json = jsonOf(definition, passType)
      expect(PassProps.validate(json, { allowUnknown: true }).error?.message).toBeUndefined()
      expect(PassJson.safeParse(json).error?.issues).toBeUndefined()
    }
  })
})

test.each(inGoogle)('publishing and the emulator agree on each mistake of a %s %s', async (kind, role, mistakes) => {
  const needed = { class: neededOf(kind, 'Class'), object: neededOf(kind, 'Object') }
  const disagreed: unknown[] = []
  let refused = 0
  for (const [index, mistake] of mistakes.entries()) {
    const passType = styles[index % styles.length]!
    // In an override, a removed value is null.
    const value = mistake.value === undefined ? null : mistake.value
    const overridden = google.replaced(google.withMistake(typeOf(kind, role), mistake), mistake.path, value)
    const own = { [role.toLowerCase()]: withoutReserved(overridden as object) }
    const definition = define({ google: { kind, ...needed, ...own } })
    const isPublished = (await publish(definition, passType)).length === 0
    const isTaken = answersOf(definition, passType).every((ok) => ok)
    if (isTaken !== isPublished) disagreed.push(mistake)
    if (!isTaken) refused += 1
  }
  expect(disagreed).toEqual([])
  // The other mistakes are removed values and IDs, which a definition does not set.
  expect(refused / mistakes.length).toBeGreaterThan(0.75)
})

function neededOf(kind: GoogleKind, role: 'Class' | 'Object') {
  const type = typeOf(kind, role)
  const all = Object.entries(google.fullRecord(type))
  return withoutReserved(Object.fromEntries(all.filter(([key]) => type.fields.get(key)?.isRequired)))
}

function withoutReserved(record: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !['id', 'classId', 'state'].includes(key)))
}

test.each(styles.map((passType, index) => [passType, index] as const))(
  'rejects a %s with mistakes in its Apple overrides, each with its path',
  async (passType, index) => {
    const full = apple.fullOverrides(passType)
    const mistakes = [...apple.mistakesIn(full)].filter((_, at) => at % styles.length === index)
    const missed: unknown[] = []
    for (const mistake of mistakes) {
      const definition = define({
        apple: apple.withMistake(full, mistake),
        google: { kind: 'generic' },
      })
      const issues = await publish(definition, passType)
      const place = ['apple', ...mistake.path].join('.')
      if (!issues.some((path) => path.startsWith(place))) missed.push({ ...mistake, issues })
    }
    expect(missed).toEqual([])
    expect(mistakes.length).toBeGreaterThan(100)
  },
)

import type { Definition } from '../../core/contract/schemas/definition.ts'
import { type CheckPass, compilePass } from '../../core/rules/pass/pass-rules.ts'
import type { Wallets } from '../../wallets/wallets.ts'
import type { VersionContent } from '../wallet-sync/definitions.ts'

/** Returns a function that checks passes against a version and the platforms. It is compiled once per definition. */
export function compileVersion(version: VersionContent, wallets: Wallets): CheckPass {
  const { definition, passType } = version
  const known = compiled.get(definition)
  if (known?.passType === passType && known.wallets === wallets) return known.check
  const platformChecks = wallets.all.flatMap((wallet) => wallet.compileValues?.(version) ?? [])
  const check = compilePass(definition, platformChecks)
  compiled.set(definition, { passType, wallets, check })
  return check
}

const compiled = new WeakMap<Definition, Pick<VersionContent, 'passType'> & { wallets: Wallets; check: CheckPass }>()

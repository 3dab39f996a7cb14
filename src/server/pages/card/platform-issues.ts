import type { Definition, PassType } from '../../../core/contract/schemas/definition.ts'
import { ApiError, below, type Issue } from '../../../core/errors.ts'
import { standsForAnything } from '../../../core/rules/template/definition.ts'
import type { Scope } from '../../../core/rules/template/placeholder.ts'
import type { Wallet } from '../../../wallets/wallet.ts'
import { sampleInLanguages } from './card-preview.ts'

/** The checks of a wallet, which need no credentials. */
export type Checker = Pick<Wallet, 'platform' | 'check' | 'checkVersion'>

/**
 * Returns the issues that platforms find in a valid definition, with paths relative to the definition. Renders a sample
 * pass for each platform, so that issues are found before a holder gets a pass. `scope` replaces the sample values.
 */
export async function findPlatformIssues(
  definition: Definition,
  passType: PassType,
  { wallets, now, scope }: { wallets: { all: readonly Checker[] }; now: Date; scope?: Scope },
): Promise<Issue[]> {
  const sample = await sampleInLanguages(definition, passType, scope)
  const results = await Promise.all(
    wallets.all.map(async ({ platform, check, checkVersion }) => {
      try {
        const issues = checkVersion?.({ definition, passType }) ?? []
        if (issues.length === 0) await check(sample, now)
        return issues
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'PASS_ISSUING_FAILED') throw error
        const issues = error.details.issues as Issue[] | undefined
        if (!issues) return [{ path: [platform], message: error.message }]
        return [...below(platform, issues)].filter(({ path }) => !standsForAnything(definition, path))
      }
    }),
  )
  return results.flat()
}

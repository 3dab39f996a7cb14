import type { Definition, PassType } from '../../../core/contract/schemas/definition.ts'
import { ApiError, below, type Issue } from '../../../core/errors.ts'
import { sampleScope, standsForAnything } from '../../../core/rules/template/definition.ts'
import type { Wallet } from '../../../wallets/wallet.ts'
import { sampleInLanguages } from './card-preview.ts'

/** The checks of a wallet, which need no credentials. */
export type Checker = Pick<Wallet, 'platform' | 'check' | 'checkVersion'>

/**
 * Returns the issues that platforms find in a valid definition, with paths relative to the definition. Renders a sample
 * pass for each platform, so that issues are found before a holder gets a pass. Passes of a template without a project
 * have no name of a project, so a required text must not consist of it.
 */
export async function findPlatformIssues(
  definition: Definition,
  passType: PassType,
  { wallets, now, hasProject }: { wallets: { all: readonly Checker[] }; now: Date; hasProject: boolean },
): Promise<Issue[]> {
  const scope = new Map(sampleScope(definition))
  if (!hasProject) scope.delete('project.name')
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

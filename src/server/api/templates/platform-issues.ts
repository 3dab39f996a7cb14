import type { Definition, PassType } from '../../../core/contract/definition.ts'
import { ApiError, below, type Issue } from '../../../core/errors.ts'
import { standsForAnything } from '../../../core/rules/template/definition.ts'
import type { RequestContext } from '../../context.ts'
import { samplePass } from '../../pages/card/preview.ts'

/**
 * What the platforms would refuse of a definition that is sound in itself, with paths below it: a sample pass is built for
 * each, so that it shows before anyone holds one.
 */
export async function findPlatformIssues(
  definition: Definition,
  passType: PassType,
  { wallets, now }: { wallets: Pick<RequestContext['wallets'], 'all'>; now: Date },
): Promise<Issue[]> {
  const sample = samplePass(definition, passType)
  const results = await Promise.all(
    wallets.all.map(async ({ platform, check, checkVersion }) => {
      try {
        if (checkVersion) return await checkVersion({ definition, passType }, sample, now)
        await check(sample, now)
        return []
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'PASS_ISSUING_FAILED') throw error
        const issues = error.details.issues as Issue[] | undefined
        if (platform !== 'google' || !issues) return [{ path: [platform], message: error.message }]
        return [...below(platform, issues)].filter(({ path }) => !standsForAnything(definition, path))
      }
    }),
  )
  return results.flat()
}

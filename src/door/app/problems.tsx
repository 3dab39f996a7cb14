/** @jsxImportSource preact */
import type { Problem } from '../engine/engine.ts'
import type { UsedCamera } from './camera/camera.ts'
import { useDoor, useEngineState } from './door-context.ts'
import { type AppLanguage, say } from './language.ts'

/** Problems that need no further action once they are read. */
const dismissible: readonly Problem['code'][] = ['storage_lost', 'rejected', 'pending_elsewhere', 'zone_deleted']

/** The problems of the engine, most severe first, and of the camera, with their remedies. */
export function Problems({ camera }: { camera?: UsedCamera }) {
  const { engine, language } = useDoor()
  const { words } = language
  const { problems } = useEngineState()
  return (
    <div role="alert" class="problems">
      {problems.map((problem) => (
        <div class="problem" key={problem.code}>
          <p>{problemText(problem, language)}</p>
          {dismissible.includes(problem.code) && (
            <button type="button" onClick={() => void engine.dismiss(problem.code)}>
              {words.done}
            </button>
          )}
        </div>
      ))}
      {camera?.problem && (
        <div class="problem">
          <p>{words.camera[camera.problem]}</p>
          <button type="button" onClick={camera.retry}>
            {words.tryAgain}
          </button>
        </div>
      )}
    </div>
  )
}

const ofCounts: readonly Problem['code'][] = ['storage_full', 'rejected', 'counts_held']

/**
 * The reasons why counts without a scan were not recorded. The count sheet shows them, because it covers the other
 * problems.
 */
export function CountProblems() {
  const { language } = useDoor()
  const problems = useEngineState().problems.filter(({ code }) => ofCounts.includes(code))
  return (
    <div role="alert">
      {problems.map((problem) => (
        <p class="problem" key={problem.code}>
          {problemText(problem, language)}
        </p>
      ))}
    </div>
  )
}

function messageOf(problem: Problem, { words }: AppLanguage): string | null {
  if (problem.code === 'rejected' && problem.isOfAnother) return words.failures.of_another
  return 'message' in problem ? problem.message : null
}

function problemText(problem: Problem, language: AppLanguage): string {
  const { words } = language
  const text = problem.code === 'exit_deleted' ? words.failures.exit_deleted : words.problems[problem.code]
  return say(text, {
    pending: 'pending' in problem ? problem.pending : null,
    name: 'name' in problem ? problem.name : null,
    people: 'references' in problem ? problem.references.length : null,
    scans: 'scans' in problem ? problem.scans : null,
    message: messageOf(problem, language),
    time: 'byMs' in problem ? language.span(problem.byMs) : null,
  })
}

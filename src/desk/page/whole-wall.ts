import { useLayoutEffect } from 'preact/hooks'

/** The smallest text size in pixels. */
const MIN_PX = 9

/** The largest text size, as a share of the width of the screen. */
const MAX_SHARE = 0.018

/** Halvings of the range of sizes: what is left is less than half a pixel. */
const STEPS = 7

/** A narrower screen, such as that of a phone, shows a page to scroll. */
const MIN_WIDTH_PX = 800

/**
 * Draws a wall with the largest text that fits its screen, whatever its language, its fonts and what it shows: nobody scrolls a
 * wall. The style sheet puts the cards into `--columns`, one after another.
 */
export function useWholeWall(isWall: boolean): void {
  useLayoutEffect(() => {
    if (!isWall) return
    const page = document.documentElement
    const fits = (px: number) => {
      page.style.fontSize = `${px}px`
      return [...document.querySelectorAll('.board, .scroll')].every(isWhole)
    }
    const fit = () => {
      const { clientWidth: width, clientHeight: height } = page
      page.classList.add('whole')
      // Four on a screen of 16:9. Their number does not depend on the size, so that smaller text never leaves less room for a word.
      page.style.setProperty('--columns', String(Math.round(3 * Math.sqrt(width / height))))
      if (width < MIN_WIDTH_PX || !fits(MIN_PX)) {
        page.classList.remove('whole')
        page.style.fontSize = ''
        return
      }
      let [fitting, tooLarge] = [MIN_PX, Math.max(MIN_PX, width * MAX_SHARE)]
      for (let step = 0; step < STEPS; step += 1) {
        const middle = (fitting + tooLarge) / 2
        if (fits(middle)) fitting = middle
        else tooLarge = middle
      }
      fits(fitting)
    }
    const watch = new MutationObserver(fit)
    watch.observe(document.body, { childList: true, subtree: true, characterData: true })
    addEventListener('resize', fit)
    return () => {
      watch.disconnect()
      removeEventListener('resize', fit)
    }
  }, [isWall])
}

/** Whether nothing of an element is cut off. Browsers round both sizes, each on its own. */
function isWhole(part: Element): boolean {
  return part.scrollWidth <= part.clientWidth + 1 && part.scrollHeight <= part.clientHeight + 1
}
